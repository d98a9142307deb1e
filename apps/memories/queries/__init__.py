"""Read memories and layers for pages, API responses and prompts."""
