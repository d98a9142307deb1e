"""Parse and format model replies, one module per kind of entry. Without database access."""
