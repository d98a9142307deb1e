"""The API of the journal."""
