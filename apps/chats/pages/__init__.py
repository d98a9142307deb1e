"""Reads for the chat pages, and their rendering."""
