"""Views of the memory pages."""
