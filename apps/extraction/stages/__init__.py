"""Stages of a run, and what they share.

A stage asks a model in ``run(context, window)`` and returns a StageOutcome to write: summary, scenes, epistemic,
extraction and consolidation (of session and long-term memories), arcs, ledger, profiles, canon, continuity, reading.
The reading asks for most of them at once and calls their ``outcome_of`` with its reply; ``review`` asks its second
question. The other modules serve the stages.
"""
