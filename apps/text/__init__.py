"""Texts of any language, without a product: words as the script demands, languages, sentences, lexemes of Postgres."""
