"""Invalidate memories whose source messages have changed, and copy memories to branches."""

from uuid import UUID

from django.db import transaction

from apps.chats.locking import lock_chat
from apps.chats.models import Chat
from apps.common.scoping import Owner
from apps.extraction.progress import changed_message_ids, copy_progress, mark_not_extracted
from apps.memories.operations.branching import inherit
from apps.memories.operations.invalidation import invalidate


@transaction.atomic
def invalidate_chat(owner: Owner, chat_id: UUID) -> int:
    """Retire memories whose sources changed. Return how many messages must be extracted again. Raise Missing."""
    chat = lock_chat(owner, chat_id)
    changed = changed_message_ids(chat)
    invalidate(chat, changed)
    mark_not_extracted(chat, changed)
    return len(changed)


def inherit_from_parent(branch: Chat) -> None:
    """Copy the parent's memories and progress to a branch, in the transaction that creates it."""
    if branch.parent is None or branch.parent_index is None:
        return
    invalidate_chat(branch.parent.owner_id, branch.parent.pk)
    inherit(branch)
    copy_progress(branch.parent, branch, branch.parent_index)
