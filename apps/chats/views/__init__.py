"""The chat pages."""
