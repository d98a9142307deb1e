"""Forms of the memory pages."""
