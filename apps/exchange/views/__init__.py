"""Pages that import files, and that export memories."""
