"""Decide which sentences are worth remembering, and of what kind they are."""
