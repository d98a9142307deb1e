"""What session and long-term memories share, below the tiers.

``lines.py`` has what a model is asked for, and which lines of its reply count; ``proposals.py`` finds what they are
compared with; ``pair_questions.py`` asks whether a memory replaces or repeats another one; ``outcomes.py`` decides what
is written. ``consolidation.py`` merges memories,
``relationships.py`` and ``triggers.py`` ask about those that are new; ``plain.py`` and ``plain_notes.py`` ask small
models.
"""
