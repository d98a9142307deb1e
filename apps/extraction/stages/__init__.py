"""Stages of a run, one module each. ``run(context, window)`` reads, asks a model, and returns an Outcome to write."""
