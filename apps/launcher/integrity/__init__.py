"""Checks of what the database itself can't promise."""
