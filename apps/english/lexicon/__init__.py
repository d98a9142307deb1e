"""English words: stems, classes, synonyms and antonyms. Without database access."""

from apps.english.lexicon.forms import stem
from apps.english.lexicon.relations import are_antonyms, are_synonyms, word_class

__all__ = ["are_antonyms", "are_synonyms", "stem", "word_class"]
