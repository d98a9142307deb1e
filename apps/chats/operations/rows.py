"""Convert parsed messages to rows and back, and order the messages of a chat."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from django.db import connection
from django.utils import timezone

from apps.chats.dates import timestamp
from apps.chats.message_data.namespaces import ends_scene, is_left_out
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Chat, Message, Swipe


def with_date(parsed: ParsedMessage) -> ParsedMessage:
    """Return the message, dated now if its send_date is None."""
    if parsed.send_date is not None:
        return parsed
    now = timezone.now().replace(microsecond=0)
    return replace(parsed, send_date=timestamp(now), sent_at=now)


def participant_ids(chat: Chat) -> dict[str, UUID]:
    """Return the ids of a group chat's participants by name; empty for other chats."""
    return dict(chat.participants.values_list("name", "pk")) if chat.is_group else {}


def message_row(chat: Chat, index: int, parsed: ParsedMessage, participants: Mapping[str, UUID]) -> Message:
    """Return an unsaved message, without its swipes. ``participants`` are ids by name."""
    return Message(
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


def swipe_rows(message: Message, parsed: ParsedMessage, instance: str = "") -> list[Swipe]:
    """Return the unsaved swipes of ``message``, written by ``instance`` unless they say by which."""
    return [
        Swipe(
            owner_id=message.owner_id,
            message=message,
            position=position,
            mes=swipe.mes,
            extra=swipe.extra,
            info=swipe.info,
            instance=swipe.instance or instance,
        )
        for position, swipe in enumerate(parsed.swipes)
    ]


def parsed_message(message: Message) -> ParsedMessage:
    """Return a stored message as a parser would, for exports and branches."""
    return ParsedMessage(
        name=message.name,
        is_user=message.is_user,
        is_system=message.is_system,
        send_date=message.send_date,
        sent_at=message.sent_at,
        swipe_id=message.swipe_id,
        swipes=tuple(
            ParsedSwipe(swipe.mes, swipe.extra, swipe.info, swipe.instance) for swipe in message.ordered_swipes
        ),
        layout=message.layout,
    )


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
