"""Incremental sync: append, patch and changes with integrity checks, idempotency keys, snapshots before forced writes,
server-sent events, and settings documents.
"""
