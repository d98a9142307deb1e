"""The slots of a prompt: their definitions, entries and text blocks."""
