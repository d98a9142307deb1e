"""Import and export of memories, in the formats of other programs."""
