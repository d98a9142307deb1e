"""Whether a model is up to the work: fixed scenes, what should be found in them, and how much of it a model finds.

Nothing of it touches anybody's memories.
"""
