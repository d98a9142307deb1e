"""Parsing of model servers' replies, streamed or whole."""
