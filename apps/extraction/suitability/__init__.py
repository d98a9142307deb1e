"""Suitability test of models: fixed scenes, the facts to find in them, and scores. No memory is read or written."""
