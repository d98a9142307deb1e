"""The wire protocol of incremental sync: append, patch and changes under the integrity rules,
idempotency keys with their stored replies, the snapshot before a forced write, and a person's settings.
"""
