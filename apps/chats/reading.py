"""A chat as its reader sees it: turns with their rendered text, days between them, a window at a time."""

import datetime as dt
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.safestring import SafeString

from apps.chats.markup import render_text
from apps.chats.models import Chat, Message
from apps.chats.panels import panels_for
from apps.chats.queries import message_window
from apps.chats.scenes import SceneBreak, break_after

WINDOW = 50
LEAD = 8  # turns shown before the one that was asked for
PAUSE = dt.timedelta(hours=4)  # after so long, one sat down to it anew


@dataclass(frozen=True)
class Sitting:
    """One comes back to a chat: at ``moment`` (local), on a new day or after a pause on the same one."""

    moment: dt.datetime
    new_day: bool


@dataclass(frozen=True)
class Turn:
    """A message with its text as HTML, the panels under it, and the ``sitting`` that begins with it, if one does."""

    message: Message
    html: SafeString
    panels: list[str]
    sitting: Sitting | None

    @property
    def scene_break(self) -> SceneBreak | None:
        return break_after(self.message)

    @property
    def source(self) -> dict[str, Any]:
        """What the page's script needs for an edit: the text as it was written, not as it is shown."""
        row = self.message
        return {"id": str(row.pk), "index": row.index, "rev": row.rev, "name": row.name, "mes": row.mes}

    @property
    def swipe_number(self) -> int:
        return self.message.swipe_id + 1

    @property
    def swipe_count(self) -> int:
        return len(self.message.ordered_swipes)


@dataclass(frozen=True)
class Excerpt:
    """Turns of ``chat`` that follow each other, from index ``start`` on."""

    chat: Chat
    start: int
    turns: list[Turn]

    @property
    def end(self) -> int:
        """The index after that of the last turn."""
        return self.start + len(self.turns)

    @property
    def last(self) -> int:
        """The index of the last turn; one before ``start`` when there is none."""
        return self.end - 1

    @property
    def has_earlier(self) -> bool:
        return self.start > 0

    @property
    def has_later(self) -> bool:
        return self.end < self.chat.message_count


def excerpt_of(owner: Any, chat_id: UUID, start: int, count: int = WINDOW) -> Excerpt:
    """``count`` turns from index ``start`` on. Raises Missing."""
    before = 1 if start else 0
    window = message_window(owner, chat_id, start - before, count + before)
    messages = window.messages[before : before + count]
    panels = panels_for(owner, messages)
    sittings = _sittings(window.messages)
    turns = [
        Turn(message, render_text(message.mes), panels.get(message.pk, []), sittings.get(message.pk))
        for message in messages
    ]
    return Excerpt(window.chat, start, turns)


def end_of(owner: Any, chat: Chat) -> Excerpt:
    return excerpt_of(owner, chat.pk, max(0, chat.message_count - WINDOW))


def around(owner: Any, chat: Chat, index: int) -> Excerpt:
    """A window that has the turn at ``index`` near its top."""
    return excerpt_of(owner, chat.pk, max(0, index - LEAD))


def earlier_than(owner: Any, chat: Chat, index: int) -> Excerpt:
    start = max(0, index - WINDOW)
    return excerpt_of(owner, chat.pk, start, index - start)


def turn_of(owner: Any, message: Message) -> Turn:
    """One message by itself, without the divider above it."""
    return Turn(message, render_text(message.mes), panels_for(owner, [message]).get(message.pk, []), None)


def index_at(owner: Any, chat: Chat, day: dt.date) -> int:
    """The index of the first message sent on ``day`` or later; the last one where there is none."""
    moment = timezone.make_aware(dt.datetime.combine(day, dt.time.min))
    later = Message.objects.for_owner(owner).filter(chat=chat, sent_at__gte=moment).order_by("index")
    found: int | None = later.values_list("index", flat=True).first()
    return chat.message_count - 1 if found is None else found


def _sittings(messages: list[Message]) -> dict[UUID, Sitting]:
    """By message id, the sitting that begins with the message."""
    found: dict[UUID, Sitting] = {}
    before: dt.datetime | None = None
    for message in messages:
        if message.sent_at is None:
            continue
        moment = timezone.localtime(message.sent_at)
        new_day = before is None or moment.date() != before.date()
        if new_day or (before and moment - before > PAUSE):
            found[message.pk] = Sitting(moment, new_day)
        before = moment
    return found
