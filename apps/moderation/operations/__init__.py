"""Writes of moderation. No other module changes its tables."""
