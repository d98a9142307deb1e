"""Pictures of characters and personas, and images in messages: re-encoded, and named in texts."""
