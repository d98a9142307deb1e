"""Append messages to a chat, and change them: all patches of a batch, or none."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.chats.locking import (
    NO_INTEGRITY,
    Guard,
    IntegrityConflict,
    PatchConflict,
    find_repeated_change,
    fingerprint_of_write,
    lock_chat,
    messages_of_change,
    record_change,
)
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.models import Chat, ChatChange, Message, Swipe
from apps.chats.operations.drafts import Draft, swipe_state
from apps.chats.operations.patches import Patch
from apps.chats.operations.patching import Batch, save_order
from apps.chats.queries.changes import Changes, HistoryGone, changes_since, rev_of
from apps.chats.quotas import require_room_for_messages
from apps.chats.restorable_rows import saved_rows
from apps.common.metrics import count
from apps.common.problems import Invalid
from apps.common.scoping import Owner

MAX_BATCH = 1000  # messages inserted at a time
MAX_BATCH_WEIGHT = 4_000_000  # approximate size of a batch in characters
ROW_WEIGHT = 500  # memory of a JSON object or array besides its texts, in characters

PATCHED_FIELDS = [
    *("name", "participant", "is_system", "send_date", "sent_at", "swipe_id"),
    *("ends_scene", "left_out", "layout", "rev", "updated_at"),
]


@dataclass(frozen=True)
class AppendResult:
    """The result of an append. ``deduplicated`` counts messages that an earlier attempt of the request stored."""

    chat: Chat
    messages: list[Message]
    deduplicated: int = 0


@dataclass(frozen=True)
class PatchResult:
    """The result of a batch: numbers of applied and skipped patches, and messages added or changed, by index."""

    chat: Chat
    messages: list[Message] = field(default_factory=list)
    skipped: int = 0
    applied: int = 0


@transaction.atomic
def append_messages(
    owner: Owner, chat_id: UUID, parsed: Sequence[ParsedMessage], guard: Guard = NO_INTEGRITY
) -> AppendResult:
    """Add messages at the end.

    Appends commute: without an integrity, or with ``rebase``, they follow whatever was written in the meantime, unless
    the log no longer tells whether this one is a retry. A retry of a write that was stored stores nothing. Raise
    IntegrityConflict, Missing, QuotaExceeded.
    """
    chat = lock_chat(owner, chat_id, guard)
    fingerprint = fingerprint_of_write(ChatChange.Kind.APPEND, guard, parsed)
    if repeated := find_repeated_change(chat, guard, fingerprint):
        count("loci_messages_deduplicated_total", len(parsed))
        return AppendResult(chat, messages_of_change(chat, repeated), deduplicated=len(parsed))
    if guard.is_stale(chat) and not (guard.rebase and _tells_retries(chat, guard)):
        raise IntegrityConflict.for_chat(chat, guard)
    dated = (message.dated() for message in parsed)
    messages = [message for batch in store_messages(chat, dated, guard.instance) for message in batch]
    chat.last_active = timezone.now()
    record_change(chat, ChatChange.Kind.APPEND, guard=guard, messages=messages, before={}, fingerprint=fingerprint)
    return AppendResult(chat, messages)


def _tells_retries(chat: Chat, guard: Guard) -> bool:
    """Return whether a retry of this write is recognised: by its key, or by the log, if that reaches back so far."""
    return guard.has_idempotency_key or (guard.integrity is not None and rev_of(chat, guard.integrity) is not None)


def store_messages(chat: Chat, parsed: Iterable[ParsedMessage], instance: str = "") -> Iterator[list[Message]]:
    """Insert messages at the end of a locked chat and yield them in batches, bounded by number and by size.

    The caller has to exhaust the iterator, then call ``record_change``.
    """
    participants = chat.participant_ids()
    for batch in _batches(parsed):
        messages = [Message.of(chat, index, item, participants) for index, item in enumerate(batch, chat.message_count)]
        require_room_for_messages(chat, len(messages))
        Message.objects.bulk_create(messages)
        Swipe.objects.bulk_create(
            row for message, item in zip(messages, batch, strict=True) for row in message.swipes_of(item, instance)
        )
        chat.message_count += len(messages)
        yield messages


def _batches(parsed: Iterable[ParsedMessage]) -> Iterator[list[ParsedMessage]]:
    batch: list[ParsedMessage] = []
    weight = 0
    for item in parsed:
        batch.append(item)
        weight += len(item.layout) + sum(_weight([swipe.mes, swipe.extra, swipe.info]) for swipe in item.swipes)
        if len(batch) == MAX_BATCH or weight >= MAX_BATCH_WEIGHT:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _weight(value: Any) -> int:
    """Estimate the size of a JSON value in memory, in characters."""
    if isinstance(value, dict):
        return ROW_WEIGHT + sum(map(_weight, value.values()))
    if isinstance(value, list):
        return ROW_WEIGHT + sum(map(_weight, value))
    return len(value) if isinstance(value, str) else 0


@transaction.atomic
def patch_messages(owner: Owner, chat_id: UUID, patches: Sequence[Patch], guard: Guard) -> PatchResult:
    """Change messages: all of the patches, or none.

    Skip patches that are in effect already, and the retry of a batch that was stored. Raise IntegrityRequired,
    IntegrityConflict, PatchConflict, Missing, and Invalid if a patch names no message or doesn't fit it.
    """
    chat = lock_chat(owner, chat_id, guard)
    guard.require_integrity()
    fingerprint = fingerprint_of_write(ChatChange.Kind.PATCH, guard, patches)
    if repeated := find_repeated_change(chat, guard, fingerprint):
        return PatchResult(chat, messages_of_change(chat, repeated), skipped=len(patches))
    if guard.is_stale(chat):
        batch = _rebased_batch(chat, patches, guard)
    else:
        batch = Batch(chat, patches, instance=guard.instance)
    if batch.stale_ids:
        detail = "These messages are not at the rev that the patch names."
        raise PatchConflict.for_messages(chat, guard, batch.stale_ids, detail)
    if not batch.applied_count:
        return PatchResult(chat, batch.targets, skipped=len(patches))
    before: dict[str, Any] = {"messages": batch.states_before()}
    if gone := batch.removed_swipe_ids:
        before["attachments"] = saved_rows(chat, list(batch.deleted), gone)
    messages = _save_batch(chat, batch)
    chat.last_active = timezone.now()
    record_change(
        chat,
        ChatChange.Kind.PATCH,
        guard=guard,
        messages=messages,
        deleted_ids=list(batch.deleted),
        before=before,
        reordered=batch.order is not None,
        fingerprint=fingerprint,
    )
    return PatchResult(chat, messages, skipped=len(patches) - batch.applied_count, applied=batch.applied_count)


def _rebased_batch(chat: Chat, patches: Sequence[Patch], guard: Guard) -> Batch:
    """Apply patches to a chat that has changed since the known state.

    They must be in effect already or, if the guard allows a rebase, name no message that changed in the meantime.
    Raise IntegrityConflict, PatchConflict.
    """
    assert guard.integrity is not None
    known_rev = rev_of(chat, guard.integrity)
    if known_rev is None:
        raise IntegrityConflict.for_chat(chat, guard)
    try:
        since = changes_since(chat, known_rev)
    except HistoryGone:  # such as a change of the whole chat, which names no messages
        raise IntegrityConflict.for_chat(chat, guard) from None
    try:
        batch = Batch(chat, patches, since, instance=guard.instance)
    except Invalid as invalid:
        # The patches may fit the state that the client knows, so this is a conflict, not an error of the client.
        raise IntegrityConflict.for_chat(chat, guard) from invalid
    if batch.applied_count or batch.missing_ids:
        _check_rebase(chat, guard, batch, since)
    return batch


def _check_rebase(chat: Chat, guard: Guard, batch: Batch, since: Changes) -> None:
    if not guard.rebase:
        raise IntegrityConflict.for_chat(chat, guard)
    contested = batch.touched_ids & since.message_ids | set(batch.missing_ids)
    if since.reordered:
        contested |= batch.moved_ids  # to an index, which named another place then
    if contested:
        detail = "These messages have changed in the meantime."
        raise PatchConflict.for_messages(chat, guard, contested, detail)


def _save_batch(chat: Chat, batch: Batch) -> list[Message]:
    """Save all that the batch changed. Return the messages added or changed, by index."""
    inserted = [message for message, _ in batch.inserted.values()]
    for draft in batch.changed:
        _save_draft(draft)
    if batch.deleted:
        Message.objects.for_owner(chat.owner_id).filter(pk__in=batch.deleted).delete()
    if batch.order is not None and len(batch.order) > chat.message_count:
        require_room_for_messages(chat, len(batch.order) - chat.message_count)
    if inserted:
        Message.objects.bulk_create(inserted)
        Swipe.objects.bulk_create([swipe for _, swipes in batch.inserted.values() for swipe in swipes])
    messages = [draft.message for draft in batch.changed] + inserted
    if batch.order is not None:
        chat.message_count = len(batch.order)
        save_order(chat, batch.order)
        index_of = {pk: index for index, pk in enumerate(batch.order)}
        for message in messages:
            message.index = index_of[message.pk]
    return sorted(messages, key=lambda message: message.index)


def _save_draft(draft: Draft) -> None:
    """Save a changed message and those of its swipes that differ from the stored ones."""
    message = draft.message
    swipes = Swipe.objects.for_owner(message.owner_id)
    if draft.removed_swipe_ids:
        swipes.filter(pk__in=draft.removed_swipe_ids).delete()
    stored = {state["id"]: (position, state) for position, state in enumerate(draft.before["swipes"])}
    for swipe in draft.swipes:
        if swipe.pk in draft.stored_swipe_ids and stored[str(swipe.pk)] != (swipe.position, swipe_state(swipe)):
            swipes.filter(pk=swipe.pk).update(
                position=swipe.position, mes=swipe.mes, extra=swipe.extra, instance=swipe.instance
            )
    added = [swipe for swipe in draft.swipes if swipe.pk not in draft.stored_swipe_ids]
    if added:
        Swipe.objects.bulk_create(added)
    message.rev += 1
    message.updated_at = timezone.now()
    message.save(update_fields=PATCHED_FIELDS)
