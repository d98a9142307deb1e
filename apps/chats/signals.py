"""Signals about writes to chats. Apps of higher layers connect their receivers in ``AppConfig.ready()``."""

from dataclasses import dataclass, field
from uuid import UUID

from django.dispatch import Signal


@dataclass(frozen=True)
class ChatChanged:
    """A write to a chat. ``message_ids`` were added or changed, ``deleted_ids`` deleted.

    Both lists are empty for a write that stored a whole chat: an import or a branch.
    """

    owner_id: UUID
    chat_id: UUID
    kind: str
    rev: int
    integrity: UUID
    message_ids: list[UUID] = field(default_factory=list)
    deleted_ids: list[UUID] = field(default_factory=list)


# Sent with ``event``, a ChatChanged, at the end of each write, inside its transaction. A receiver has to be quick, and
# an exception that it raises rolls the write back.
chat_changed = Signal()

# Sent with ``event``, a ChatChanged, by a Celery task after the commit. Exceptions are logged.
chat_committed = Signal()

# Sent with ``chat`` at the end of an undo, inside its transaction.
change_undone = Signal()

# Sent with ``chat``, the new branch, inside the transaction that creates it.
chat_branched = Signal()

# Sent with ``chat`` inside the transaction that puts it into the bin, takes it out, or is about to delete it for good.
chat_deleted = Signal()
chat_restored = Signal()
chat_purged = Signal()

# Sent with ``owner_id`` and ``namespace`` inside the transaction that has deleted a chat for good, after all its rows.
chat_erased = Signal()

# Sent with ``owner_id`` inside the transaction that pins, archives, tags, deletes or restores chats.
chat_list_changed = Signal()

# Sent with ``character`` and its ``former`` name, inside the transaction that gives it another one.
character_renamed = Signal()

# Sent with the ``name`` of a persona, its ``former`` name, and the ``chats`` in which the user gets the new one, inside
# the transaction that renames it.
persona_renamed = Signal()

# Sent with ``character``, about to be deleted, and ``into``, which gets all that belongs to it, inside the transaction.
characters_merged = Signal()

# Sent with ``chat``, locked and not yet changed, inside the transaction of a write that skips the integrity check.
before_forced_write = Signal()
