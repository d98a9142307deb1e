"""English statements, as pure functions: no Django, no database, no language model.

This app owns what Loci knows of the language: stems and word classes (``lexicon``), the words that carry meaning
(``words``), numbers and names (``numbers``, ``names``), a statement's clauses with pronouns resolved (``clauses``),
negation (``negation``), subject and verb (``predicates``), in what two statements differ (``differences``), and the
learned comparison that tells whether the newer of two statements replaces or repeats the older one (``comparison``,
with ``regression``). It knows nothing of memories or chats; whoever calls ``comparison`` passes the embedding in.
"""
