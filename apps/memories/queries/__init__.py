"""Read memories and layers for pages, replies and prompts."""
