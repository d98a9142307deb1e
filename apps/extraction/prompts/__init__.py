"""Prompts for language models: a template for each task, which a user may replace, and its rendering.

Messages are data: they are rendered between marks that no message can imitate.
"""
