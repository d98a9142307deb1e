"""The demo: original stories, and the functions that load them."""
