"""Append messages to a chat. Make the rows of new messages, and save the order of all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from apps.chats.limits import MAX_BATCH
from apps.chats.locking import (
    NO_INTEGRITY,
    Guard,
    IntegrityConflict,
    find_repeated_change,
    fingerprint_of_write,
    lock_chat,
    messages_of_change,
    record_change,
)
from apps.chats.message_data.namespaces import ends_scene, is_left_out
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.models import Chat, ChatChange, Message, Swipe
from apps.chats.queries.changes import rev_of
from apps.chats.quotas import require_room_for_messages
from apps.common.metrics import count
from apps.common.scoping import Owner

MAX_BATCH_WEIGHT = 4_000_000  # approximate size of a batch in characters
ROW_WEIGHT = 500  # memory of a JSON object or array besides its texts, in characters


@dataclass(frozen=True)
class AppendResult:
    """The result of an append. ``deduplicated`` counts messages that an earlier attempt of the request stored."""

    chat: Chat
    messages: list[Message]
    deduplicated: int = 0


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
        rows = [
            new_message(chat, index, item, participants, instance)
            for index, item in enumerate(batch, chat.message_count)
        ]
        messages = [message for message, _ in rows]
        require_room_for_messages(chat, len(messages))
        Message.objects.bulk_create(messages)
        Swipe.objects.bulk_create([swipe for _, swipes in rows for swipe in swipes])
        chat.message_count += len(messages)
        yield messages


def new_message(
    chat: Chat, index: int, parsed: ParsedMessage, participants: Mapping[str, UUID], instance: str = ""
) -> tuple[Message, list[Swipe]]:
    """Return the unsaved rows of a message and its swipes. ``participants`` are ids by name.

    Swipes are written by ``instance``, unless they say by which.
    """
    message = Message(
        owner_id=chat.owner_id,
        chat=chat,
        index=index,
        name=parsed.name,
        participant_id=None if parsed.is_user else participants.get(parsed.name),
        is_user=parsed.is_user,
        is_system=parsed.is_system,
        send_date=parsed.send_date,
        sent_at=parsed.sent_at,
        swipe_id=parsed.swipe_id,
        ends_scene=ends_scene(parsed.active.extra),
        left_out=is_left_out(parsed.active.extra),
        layout=parsed.layout,
    )
    swipes = [
        Swipe(
            owner_id=chat.owner_id,
            message=message,
            position=position,
            mes=swipe.mes,
            extra=swipe.extra,
            info=swipe.info,
            instance=swipe.instance or instance,
        )
        for position, swipe in enumerate(parsed.swipes)
    ]
    return message, swipes


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


def ordered_ids(chat: Chat) -> list[UUID]:
    """Return the ids of all messages of a locked chat, by index."""
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat)
    return list(messages.order_by("index").values_list("pk", flat=True))


def save_order(chat: Chat, order: Sequence[UUID]) -> None:
    """Give every message of a locked chat the index that it has in ``order``."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE chats_message SET index = target.index - 1
            FROM unnest(%s::uuid[]) WITH ORDINALITY AS target (id, index)
            WHERE chats_message.id = target.id AND chats_message.chat_id = %s
              AND chats_message.index <> target.index - 1
            """,
            [list(order), chat.pk],
        )
