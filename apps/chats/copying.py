"""Stored messages in the form in which they are parsed, for exports and branches, a window at a time."""

from collections.abc import Iterator

from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Chat, Message

WINDOW = 200


def windows_of(chat: Chat, count: int | None = None) -> Iterator[list[Message]]:
    """The first ``count`` messages of a chat, or all, with their swipes, up to 200 at a time.

    Each window is read when it is asked for: a write that happens meanwhile shows in those still to come.
    """
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("index")
    if count is not None:
        rows = rows.filter(index__lt=count)
    start = 0
    while window := list(rows.filter(index__gte=start)[:WINDOW]):
        yield window
        start = window[-1].index + 1


def parsed_message(message: Message) -> ParsedMessage:
    return ParsedMessage(
        name=message.name,
        is_user=message.is_user,
        is_system=message.is_system,
        send_date=message.send_date,
        sent_at=message.sent_at,
        swipe_id=message.swipe_id,
        swipes=tuple(ParsedSwipe(swipe.mes, swipe.extra, swipe.info) for swipe in message.ordered_swipes),
        layout=message.layout,
    )
