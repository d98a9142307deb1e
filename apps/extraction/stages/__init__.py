"""Stages of a run, one module each. ``run(context, window)`` asks a model and returns a StageOutcome to write."""
