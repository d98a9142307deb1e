"""API of the graph."""
