"""What a moderator sees during a look: messages, or the fields of a thing that stands alone."""

import hashlib
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator

from apps.chats.models import Chat, Message
from apps.common.scoping import system_scope
from apps.moderation.models import Case, Kind, Look
from apps.moderation.targets import MODELS, texts_of, texts_of_message

AROUND = 5  # messages before and after the one that a look is about
PAGE_SIZE = 50  # messages of a chat


@dataclass(frozen=True)
class ContentPart:
    """A text, or the swipes of a message, under a heading. ``is_target`` marks what was reported."""

    heading: str
    texts: list[str]
    is_target: bool = True


@dataclass(frozen=True)
class Content:
    """Parts to show, and the page that they are of if there are several. Empty if the thing is gone."""

    title: str = ""
    parts: list[ContentPart] = field(default_factory=list)
    page: Page[Any] | None = None
    in_bin: bool = False

    @property
    def digest(self) -> str:
        """What changes when the texts of the thing do."""
        texts = [text for part in self.parts if part.is_target for text in (part.heading, *part.texts)]
        return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def content_of(look: Look, number: str | None = None) -> Content:
    """Return what a look is about as it is now: of a chat one page, of a message also those around it.

    What its owner has put into the bin is shown: it can be taken out again.
    """
    with system_scope():
        return _thing(look) if look.kind in MODELS else _messages(look, number)


def is_there(case: Case) -> bool:
    """Return whether the thing of a case is there, if only in the bin."""
    rows = Message._base_manager if case.kind == Kind.MESSAGE else MODELS[case.kind]._base_manager
    return bool(rows.filter(owner=case.owner_id, pk=case.target_id).exists())


def _thing(look: Look) -> Content:
    row = MODELS[look.kind]._base_manager.filter(owner=look.owner_id, pk=look.target_id).first()
    if row is None:
        return Content()
    parts = [ContentPart(name, [text]) for name, text in texts_of(row)]
    return Content(str(Kind(look.kind).label), parts, in_bin=bool(getattr(row, "deleted_at", None)))


def _messages(look: Look, number: str | None) -> Content:
    chat = Chat._base_manager.filter(owner=look.owner_id, pk=look.chat_id).first() if look.chat_id else None
    if chat is None:
        return Content()
    in_bin = chat.deleted_at is not None
    rows = Message.objects.for_owner(look.owner_id).filter(chat=chat).with_swipes().order_by("index")
    if look.kind == "chat":
        page = Paginator(rows, PAGE_SIZE).get_page(number)
        return Content(chat.title, [_part(message) for message in page], page, in_bin)
    target = rows.filter(pk=look.target_id).first()
    if target is None:
        return Content()
    around = rows.filter(index__gte=target.index - AROUND, index__lte=target.index + AROUND)
    return Content(chat.title, [_part(message, target.pk) for message in around], in_bin=in_bin)


def _part(message: Message, target_id: UUID | None = None) -> ContentPart:
    heading = f"{message.index}: {message.name}"
    return ContentPart(heading, list(texts_of_message(message)), target_id in (None, message.pk))
