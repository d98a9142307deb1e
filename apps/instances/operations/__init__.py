"""Writes to instances and to what they share."""
