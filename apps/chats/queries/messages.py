"""Read messages of a chat: a window of them, or all in batches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import F, OuterRef, Subquery, Value
from django.db.models.functions import Greatest
from django.utils.translation import gettext

from apps.chats.models import Chat, Message, Swipe
from apps.common.database.fields import OrderedJSONField
from apps.common.database.rows import first_or_missing
from apps.common.scoping import Owner

MAX_WINDOW = 200  # messages

Row = TypeVar("Row", bound=models.Model)


class JSONRows(Subquery):
    """The rows of a subquery as a JSON array of objects, in its order."""

    template = "(SELECT coalesce(json_agg(row_to_json(found)), '[]') FROM (%(subquery)s) found)"
    output_field = OrderedJSONField()


@dataclass(frozen=True)
class MessageWindow:
    """Consecutive ``messages`` of ``chat``, from index ``start`` on."""

    chat: Chat
    start: int
    messages: list[Message]

    @property
    def end(self) -> int:
        return self.start + len(self.messages)


def message_window(owner: Owner, chat_id: UUID, start: int = 0, limit: int = 50) -> MessageWindow:
    """Return ``limit`` messages from index ``start`` on; a negative start counts from the end. Raise Missing.

    One statement reads them with the chat, since a write between two would give them another chat's state.
    """
    first = Greatest(F("message_count") + start, 0) if start < 0 else Value(start)
    end = OuterRef("first") + max(1, min(limit, MAX_WINDOW))
    swipes = Swipe.objects.for_owner(owner).filter(message=OuterRef("pk")).order_by("position")
    messages = Message.objects.for_owner(owner).filter(chat=OuterRef("pk"), index__gte=OuterRef("first"), index__lt=end)
    messages = messages.annotate(swipe_rows=JSONRows(swipes.values(*_columns(Swipe)))).order_by("index")
    chats = (
        Chat.objects.for_owner(owner)
        .select_related("character")
        .filter(pk=chat_id)
        .annotate(first=first, rows=JSONRows(messages.values(*_columns(Message), "swipe_rows")))
    )
    chat: Any = first_or_missing(chats, gettext("There is no such chat."))
    return MessageWindow(chat, chat.first, [_message_of(row) for row in chat.rows])


def _columns(model: type[models.Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _message_of(row: dict[str, Any]) -> Message:
    """Return the message, with its swipes prefetched, of a row of ``JSONRows``."""
    message = _instance(Message, row)
    swipes = message.swipes.all()
    swipes._result_cache = [_instance(Swipe, swipe) for swipe in row["swipe_rows"]]
    message._prefetched_objects_cache = {"swipes": swipes}  # type: ignore[attr-defined]
    return message


def _instance(model: type[Row], row: dict[str, Any]) -> Row:
    values = [field.to_python(row[field.attname]) for field in model._meta.concrete_fields]
    return model.from_db(None, _columns(model), values)


def message_batches(
    chat: Chat,
    count: int | None = None,
    read: Callable[[Callable[[], list[Message]]], list[Message]] = lambda batch: batch(),
) -> Iterator[list[Message]]:
    """Yield the first ``count`` messages of a chat, or all, with their swipes, MAX_WINDOW at a time.

    Each batch is read when requested, by ``read``: later batches include concurrent writes.
    """
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("index")
    if count is not None:
        rows = rows.filter(index__lt=count)
    start = 0
    while batch := read(partial(list, rows.filter(index__gte=start)[:MAX_WINDOW])):
        yield batch
        start = batch[-1].index + 1
