"""Changes messages of a chat: all of a batch of patches, or none."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.fingerprints import fingerprint_of
from apps.chats.integrity import Guard, IntegrityConflict, PatchConflict
from apps.chats.models import Chat, ChatChange, Message
from apps.chats.operations.batches import Batch
from apps.chats.operations.door import lock_chat, messages_left_of, record_change, write_after
from apps.chats.operations.saving import save_batch
from apps.chats.patches import Patch
from apps.chats.queries import Changes, changes_since, rev_of
from apps.common import clock
from apps.common.problems import Invalid


@dataclass(frozen=True)
class Patched:
    chat: Chat
    messages: list[Message] = field(default_factory=list)
    skipped: int = 0
    applied: int = 0


@transaction.atomic
def patch_messages(owner: Any, chat_id: UUID, patches: Sequence[Patch], guard: Guard) -> Patched:
    """Change messages, all of the patches or none.

    A patch that is already in effect is skipped; so is a batch that was stored before, sent again because its reply
    was lost. Raises IntegrityRequired, IntegrityConflict, PatchConflict, Missing, and Invalid where a patch names
    no message or doesn't fit it.
    """
    guard.check()
    chat = lock_chat(owner, chat_id)
    fingerprint = fingerprint_of(ChatChange.Kind.PATCH, patches)
    stale = guard.is_stale(chat)
    if stale and (repeated := write_after(chat, guard, fingerprint)):
        return Patched(chat, messages_left_of(chat, repeated), skipped=len(patches))
    batch = _apply_to_what_changed(chat, patches, guard) if stale else Batch(chat, patches)
    if batch.late:
        raise PatchConflict.over(chat, guard, batch.late, "These messages are not at the rev that the patch names.")
    if not batch.has_effect:
        return Patched(chat, batch.targets, skipped=len(patches))
    messages = _store(chat, batch, fingerprint, guard)
    return Patched(chat, messages, skipped=len(patches) - batch.applied_count, applied=batch.applied_count)


def _store(chat: Chat, batch: Batch, fingerprint: str, guard: Guard) -> list[Message]:
    before = {"messages": batch.images_before}
    messages = save_batch(chat, batch)
    chat.last_active = clock.now()
    record_change(
        chat,
        ChatChange.Kind.PATCH,
        messages=messages,
        deleted_ids=list(batch.deleted),
        before=before,
        reordered=batch.order is not None,
        fingerprint=fingerprint,
        forced=guard.force,
    )
    return messages


def _apply_to_what_changed(chat: Chat, patches: Sequence[Patch], guard: Guard) -> Batch:
    """The batch over a chat that was written since the state in ``guard``: it must be in effect already, or, where
    the client allows it, touch nothing that was changed."""
    assert guard.integrity is not None
    known = rev_of(chat, guard.integrity)
    if known is None:
        raise IntegrityConflict.over(chat, guard)
    since = changes_since(chat, known)
    try:
        batch = Batch(chat, patches, since)
    except Invalid as invalid:
        # It may well have fitted the state that the client knew.
        raise IntegrityConflict.over(chat, guard) from invalid
    if batch.has_effect or batch.lost:
        _check_rebase(chat, guard, batch, since)
    return batch


def _check_rebase(chat: Chat, guard: Guard, batch: Batch, since: Changes) -> None:
    if not guard.rebase:
        raise IntegrityConflict.over(chat, guard)
    contested = batch.named & since.message_ids
    if contested or batch.lost:
        raise PatchConflict.over(chat, guard, contested, "These messages were changed since.", gone=batch.lost)
