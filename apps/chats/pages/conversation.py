"""Read a chat for its page: turns with rendered text and dividers, a window at a time."""

import datetime as dt
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.safestring import SafeString

from apps.chats.message_data.namespaces import LOCI_NAMESPACE, namespace_of
from apps.chats.models import Chat, Message
from apps.chats.pages.markup import render_text
from apps.chats.pages.plugins import panels_for
from apps.chats.queries import avatars_of, message_window
from apps.chats.scenes import SceneBreak, break_after
from apps.common.scoping import Owner

WINDOW_SIZE = 50  # turns
TURNS_BEFORE = 8  # turns shown before the requested one
SESSION_GAP = dt.timedelta(hours=4)  # a longer pause begins a new session


@dataclass(frozen=True)
class Session:
    """The start of a session at the local time ``moment``: on a new day, or after a pause on the same day."""

    moment: dt.datetime
    new_day: bool


@dataclass(frozen=True)
class Turn:
    """A message with its text as HTML, the panels under it, and, if any, its session and its speaker's avatar.

    ``session`` is the one that begins with the message.
    """

    message: Message
    html: SafeString
    panels: list[str]
    session: Session | None
    avatar_id: UUID | None

    @property
    def scene_break(self) -> SceneBreak | None:
        return break_after(self.message)

    @property
    def source(self) -> dict[str, Any]:
        """Return the fields that the page's script needs for an edit, with the text as written, and our data."""
        row = self.message
        extra = {LOCI_NAMESPACE: namespace_of(row.extra, LOCI_NAMESPACE)}
        return {"id": str(row.pk), "index": row.index, "rev": row.rev, "name": row.name, "mes": row.mes, "extra": extra}

    @property
    def swipe_number(self) -> int:
        return self.message.swipe_id + 1

    @property
    def swipe_count(self) -> int:
        return len(self.message.ordered_swipes)


@dataclass(frozen=True)
class Excerpt:
    """Consecutive turns of ``chat``, from index ``start`` on."""

    chat: Chat
    start: int
    turns: list[Turn]

    @property
    def end(self) -> int:
        """Return the index after the last turn."""
        return self.start + len(self.turns)

    @property
    def last(self) -> int:
        """Return the index of the last turn, or ``start - 1`` if there is none."""
        return self.end - 1

    @property
    def has_earlier(self) -> bool:
        return self.start > 0

    @property
    def has_later(self) -> bool:
        return self.end < self.chat.message_count


def excerpt_of(owner: Owner, chat_id: UUID, start: int, count: int = WINDOW_SIZE) -> Excerpt:
    """Return ``count`` turns from index ``start`` on. Raise Missing."""
    before = 1 if start else 0  # also read the message before the first turn, to tell if a session begins there
    window = message_window(owner, chat_id, start - before, count + before)
    messages = window.messages[before : before + count]
    panels = panels_for(owner, messages)
    sessions = _sessions(window.messages)
    avatars = avatars_of(window.chat)
    turns = [
        Turn(
            message,
            render_text(message.mes),
            panels.get(message.pk, []),
            sessions.get(message.pk),
            avatars.get((message.is_user, message.name)),
        )
        for message in messages
    ]
    return Excerpt(window.chat, start, turns)


def last_excerpt(owner: Owner, chat: Chat) -> Excerpt:
    """Return the window at the end of the chat."""
    return excerpt_of(owner, chat.pk, max(0, chat.message_count - WINDOW_SIZE))


def excerpt_around(owner: Owner, chat: Chat, index: int) -> Excerpt:
    """Return a window that has the turn at ``index`` near its top."""
    return excerpt_of(owner, chat.pk, max(0, index - TURNS_BEFORE))


def excerpt_before(owner: Owner, chat: Chat, index: int) -> Excerpt:
    """Return the window that ends before ``index``."""
    start = max(0, index - WINDOW_SIZE)
    return excerpt_of(owner, chat.pk, start, index - start)


def turn_of(owner: Owner, message: Message) -> Turn:
    """Return a single turn, without a session."""
    panels = panels_for(owner, [message]).get(message.pk, [])
    avatar_id = avatars_of(message.chat).get((message.is_user, message.name))
    return Turn(message, render_text(message.mes), panels, None, avatar_id)


def index_at(owner: Owner, chat: Chat, day: dt.date) -> int:
    """Return the index of the first message sent on ``day`` or later, or else of the last message."""
    moment = timezone.make_aware(dt.datetime.combine(day, dt.time.min))
    later = Message.objects.for_owner(owner).filter(chat=chat, sent_at__gte=moment).order_by("index")
    index: int | None = later.values_list("index", flat=True).first()
    return chat.message_count - 1 if index is None else index


def _sessions(messages: list[Message]) -> dict[UUID, Session]:
    """Return the sessions by the id of the message that they begin with."""
    sessions: dict[UUID, Session] = {}
    before: dt.datetime | None = None
    for message in messages:
        if message.sent_at is None:
            continue
        moment = timezone.localtime(message.sent_at)
        new_day = before is None or moment.date() != before.date()
        if new_day or (before and moment - before > SESSION_GAP):
            sessions[message.pk] = Session(moment, new_day)
        before = moment
    return sessions
