"""Memories and layers, the verdicts on new candidates, who may see what, and the memory book."""
