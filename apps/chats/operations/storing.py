"""Puts messages into a locked chat: at its end, or anywhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connection

from apps.chats.formats.parsed import ParsedMessage
from apps.chats.message_data import ends_scene
from apps.chats.models import Chat, Message, Swipe
from apps.chats.wire import timestamp
from apps.common import clock

BATCH = 1000  # messages
BATCH_WEIGHT = 4_000_000  # in characters, about; whichever comes first
ROW_WEIGHT = 500  # what an object costs beside its text, in characters


def store_messages(chat: Chat, parsed: Iterable[ParsedMessage]) -> Iterator[list[Message]]:
    """Insert messages at the end of a locked chat and yield them in batches, bounded by number and by weight.

    The caller exhausts it, then calls ``record_change``.
    """
    speakers = speakers_of(chat)
    for batch in _batches(parsed):
        messages = [message_row(chat, chat.message_count + offset, item, speakers) for offset, item in enumerate(batch)]
        Message.objects.bulk_create(messages)
        Swipe.objects.bulk_create(
            row for message, item in zip(messages, batch, strict=True) for row in swipe_rows(message, item)
        )
        chat.message_count += len(messages)
        yield messages


def _batches(parsed: Iterable[ParsedMessage]) -> Iterator[list[ParsedMessage]]:
    batch: list[ParsedMessage] = []
    weight = 0
    for item in parsed:
        batch.append(item)
        weight += len(item.layout) + sum(_weight([swipe.mes, swipe.extra, swipe.info]) for swipe in item.swipes)
        if len(batch) == BATCH or weight >= BATCH_WEIGHT:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _weight(value: Any) -> int:
    """About the size of a JSON value in memory, in characters."""
    if isinstance(value, dict):
        return ROW_WEIGHT + sum(map(_weight, value.values()))
    if isinstance(value, list):
        return ROW_WEIGHT + sum(map(_weight, value))
    return len(value) if isinstance(value, str) else 0


def dated(parsed: ParsedMessage) -> ParsedMessage:
    """A message whose date is None is sent now."""
    if parsed.send_date is not None:
        return parsed
    now = clock.now().replace(microsecond=0)
    return replace(parsed, send_date=timestamp(now), sent_at=now)


def speakers_of(chat: Chat) -> dict[str, UUID]:
    """The participants of a group chat by name; of any other chat, none."""
    return dict(chat.participants.values_list("name", "pk")) if chat.is_group else {}


def message_row(chat: Chat, index: int, parsed: ParsedMessage, speakers: Mapping[str, UUID]) -> Message:
    return Message(
        owner_id=chat.owner_id,
        chat=chat,
        index=index,
        name=parsed.name,
        participant_id=None if parsed.is_user else speakers.get(parsed.name),
        is_user=parsed.is_user,
        is_system=parsed.is_system,
        send_date=parsed.send_date,
        sent_at=parsed.sent_at,
        swipe_id=parsed.swipe_id,
        ends_scene=ends_scene(parsed.active.extra),
        layout=parsed.layout,
    )


def swipe_rows(message: Message, parsed: ParsedMessage) -> list[Swipe]:
    return [
        Swipe(
            owner_id=message.owner_id,
            message=message,
            position=position,
            mes=swipe.mes,
            extra=swipe.extra,
            info=swipe.info,
        )
        for position, swipe in enumerate(parsed.swipes)
    ]


def order_of(chat: Chat) -> list[UUID]:
    """The ids of all messages of a locked chat, in their order."""
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat)
    return list(messages.order_by("index").values_list("pk", flat=True))


def place(chat: Chat, order: Sequence[UUID]) -> None:
    """Give every message of a locked chat the index that it has in ``order``."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE chats_message SET index = place.index - 1
            FROM unnest(%s::uuid[]) WITH ORDINALITY AS place (id, index)
            WHERE chats_message.id = place.id AND chats_message.chat_id = %s
              AND chats_message.index <> place.index - 1
            """,
            [list(order), chat.pk],
        )
