"""Pages of replies, generation presets and the author's note."""
