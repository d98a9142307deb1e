"""Pages of generation presets and of the author's note."""
