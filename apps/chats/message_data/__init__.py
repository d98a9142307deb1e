"""Data that programs keep with a message, and recaps, which are such data."""
