"""Calls of addresses that users name, about what happens in their account."""
