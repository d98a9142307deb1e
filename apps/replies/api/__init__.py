"""API of prompt previews and generations."""
