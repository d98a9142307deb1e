"""Tools with which a model looks things up in the memory of a chat while it writes a reply."""
