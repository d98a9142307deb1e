"""English statements, as pure functions: no Django, no database, no language model.

This app holds everything specific to English: stems and word classes (``lexicon``), content words (``words``),
numbers, names and dates (``numbers``, ``names``, ``dates``), a statement's clauses with pronouns resolved
(``clauses``), negation (``negation``), subject and verb (``predicates``), the differences between two statements
(``differences``), and the learned comparison that decides whether the newer of two statements replaces or repeats the
older one (``comparison``, ``regression``). It does not depend on memories or chats; the caller of ``comparison``
passes the embedding function.
"""
