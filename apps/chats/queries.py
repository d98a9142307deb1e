"""Reads of chats that return rows or dataclasses."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from apps.chats.models import Chat, ChatChange, Message
from apps.common.problems import Missing, Problem

MAX_WINDOW = 200
# Writes that stored a whole chat: their line in the log names no message.
WHOLE = {ChatChange.Kind.IMPORT, ChatChange.Kind.BRANCH}


class HistoryGone(Problem):
    """The change log does not reach back to the state that the client names."""

    status = 410
    type = "/problems/history-gone"
    title = "The change log does not reach back that far"


@dataclass(frozen=True)
class Window:
    """``messages`` of ``chat`` from index ``start`` on."""

    chat: Chat
    start: int
    messages: list[Message]

    @property
    def end(self) -> int:
        return self.start + len(self.messages)


@dataclass(frozen=True)
class Changes:
    """The log since a state."""

    chat: Chat
    entries: list[ChatChange]

    @cached_property
    def messages(self) -> dict[UUID, Message]:
        """Those added or changed that are still there, as they are now."""
        rows = Message.objects.for_owner(self.chat.owner_id).filter(chat=self.chat, pk__in=self.message_ids)
        return {message.pk: message for message in rows.with_swipes()}

    @cached_property
    def message_ids(self) -> set[UUID]:
        return {pk for entry in self.entries for pk in entry.message_ids}

    @cached_property
    def deleted_ids(self) -> set[UUID]:
        return {pk for entry in self.entries for pk in entry.deleted_ids}


def access_chat(owner: Any, chat_id: UUID) -> Chat:
    """The owner's chat. Raises Missing."""
    chat = Chat.objects.for_owner(owner).select_related("character").filter(pk=chat_id).first()
    if chat is None:
        raise Missing("There is no such chat.")
    return chat


def access_message(owner: Any, chat_id: UUID, message_id: UUID) -> Message:
    """A message of the owner's chat. Raises Missing."""
    found = Message.objects.for_owner(owner).with_swipes().filter(chat_id=chat_id, pk=message_id).first()
    if found is None:
        raise Missing("There is no such message in this chat.")
    return found


def message_window(owner: Any, chat_id: UUID, start: int = 0, limit: int = 50) -> Window:
    """``limit`` messages from index ``start`` on; a negative start counts from the end."""
    chat = access_chat(owner, chat_id)
    first = max(0, chat.message_count + start) if start < 0 else start
    last = first + max(1, min(limit, MAX_WINDOW))
    messages = Message.objects.for_owner(owner).filter(chat=chat, index__gte=first, index__lt=last)
    return Window(chat, first, list(messages.with_swipes().order_by("index")))


def rev_of(chat: Chat, integrity: UUID) -> int | None:
    """The rev of the state that ``integrity`` names, or None where the log does not know it."""
    if chat.integrity == integrity:
        return chat.rev
    return chat.changes.filter(integrity=integrity).values_list("rev", flat=True).first()


def changes_since(chat: Chat, rev: int) -> Changes:
    """What was written after ``rev``. Raises HistoryGone where the log does not hold all of it."""
    entries = list(chat.changes.filter(rev__gt=rev).order_by("rev"))
    complete = len(entries) == chat.rev - rev and rev >= 0
    if not complete or any(entry.kind in WHOLE for entry in entries):
        raise HistoryGone("Read the chat anew.", current_integrity=str(chat.integrity), current_rev=chat.rev)
    return Changes(chat, entries)
