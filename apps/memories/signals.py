"""Signals of memories, sent in the transaction of the write."""

from django.dispatch import Signal

# A memory was deleted by hand or by an instance, or restored. Receivers get ``owner_id``.
tombstones_changed = Signal()
