"""The slots of a prompt: their definitions, token budgets and text blocks."""
