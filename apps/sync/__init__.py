"""The wire protocol of incremental sync: append, patch and changes under the integrity rules,
idempotency keys with their stored replies, and the snapshot before a forced write.
"""
