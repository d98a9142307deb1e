"""What a moderator sees during a look: messages, the fields of a character, or the text of a memory."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator

from apps.chats.models import Character, Chat, Message
from apps.common.scoping import system_scope
from apps.memories.models import Memory
from apps.moderation.models import Kind, Look
from apps.moderation.targets import texts_of_character, texts_of_message

AROUND = 5  # messages before and after the one that a look is about
PAGE_SIZE = 50  # messages of a chat


@dataclass(frozen=True)
class Part:
    """A text, or the swipes of a message, under a heading. ``is_target`` marks what was reported."""

    heading: str
    texts: list[str]
    is_target: bool = True


@dataclass(frozen=True)
class Content:
    """Parts to show, and the page that they are of if there are several. Empty if the thing is gone."""

    title: str = ""
    parts: list[Part] = field(default_factory=list)
    page: Page[Any] | None = None


def content_of(look: Look, number: str | None = None) -> Content:
    """Return what a look is about as it is now: of a chat one page, of a message also those around it."""
    with system_scope():
        if look.kind == Kind.CHARACTER:
            return _character(look)
        if look.kind == Kind.MEMORY:
            memory = Memory.objects.for_owner(look.owner_id).filter(pk=look.target_id).first()
            return Content("Memory", [Part("Text", [memory.text])]) if memory else Content()
        return _messages(look, number)


def _character(look: Look) -> Content:
    character = Character.objects.for_owner(look.owner_id).filter(pk=look.target_id).first()
    if character is None:
        return Content()
    return Content(character.name, [Part(name, [text]) for name, text in texts_of_character(character)])


def _messages(look: Look, number: str | None) -> Content:
    chat = Chat.objects.for_owner(look.owner_id).filter(pk=look.chat_id).first()
    if chat is None:
        return Content()
    rows = Message.objects.for_owner(look.owner_id).filter(chat=chat).with_swipes().order_by("index")
    if look.kind == "chat":
        page = Paginator(rows, PAGE_SIZE).get_page(number)
        return Content(chat.title, [_part(message) for message in page], page)
    target = rows.filter(pk=look.target_id).first()
    if target is None:
        return Content()
    around = rows.filter(index__gte=target.index - AROUND, index__lte=target.index + AROUND)
    return Content(chat.title, [_part(message, target.pk) for message in around])


def _part(message: Message, target_id: UUID | None = None) -> Part:
    heading = f"{message.index}: {message.name}"
    return Part(heading, list(texts_of_message(message)), target_id in (None, message.pk))
