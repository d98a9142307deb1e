"""English statements, as pure functions: no Django, no database, no language model.

This app holds everything specific to English: stems and word classes (``lexicon``), content words (``words``),
numbers, names and dates (``numbers``, ``names``, ``relative_dates``), a statement's clauses with pronouns resolved
(``clauses``), negation (``negation``), subject and verb (``predicates``), what a statement is besides a fact (only
``imagined``, ``retelling`` of others, ``requests``, ``instructions`` to a model), the differences between two
statements (``differences``), and the learned comparison that decides whether the newer of two statements replaces or
repeats the older one (``comparison``, ``regression``). What is read of a text often is ``kept``. It does not depend on
memories or chats; the caller of ``comparison`` passes the embedding function.
"""
