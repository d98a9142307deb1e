"""Retrieval of the memories and passages for a user turn."""
