"""Incremental sync: append, patch and changes with integrity checks, idempotency keys, server-sent events, settings."""
