"""Signals of memories, sent in the transaction of the write."""

from django.dispatch import Signal

# A memory was deleted by hand or by an instance, or restored. Receivers get ``owner_id``. Open pages and clients learn
# of it by the event stream of ``sync``; a client that was away asks for ``tombstones``.
tombstones_changed = Signal()

# All of a namespace was erased. Receivers get ``owner_id`` and ``namespace``.
namespace_erased = Signal()

# Memories were changed by a statement that sends no signals of its own. Receivers get ``owner_id`` and ``ids``.
memories_changed = Signal()

# Texts of memories were written by a person, a program or an import, and not read from messages by a run. Receivers get
# ``owner_id``, the ``ids`` of the memories, and ``created`` if they were inserted at once.
memories_written = Signal()
