"""Carry rows of other apps that belong to messages in the exported file, and make them again on import."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from apps.chats.message_data.layout import forget_layout
from apps.chats.message_data.namespaces import LOCI_NAMESPACE, namespace_of
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.models import Chat, Message
from apps.exchange.chats.carried_recalls import exported_recalls, import_recalls, read_recall
from apps.exchange.formats.parsed import ImportReport


@dataclass(frozen=True)
class Carrier:
    """Rows of an app that go with messages into a file, under ``key`` in the namespace ``loci`` of ``extra``.

    ``export`` is called with a chat and some of its messages, and returns JSON by message id. ``read`` returns the
    validated JSON of a file, or None if it is damaged. ``restore`` is called with the locked chat and what ``read``
    returned, by the ids of messages that are now stored.
    """

    key: str
    label: str
    export: Callable[[Chat, Sequence[Message]], Mapping[UUID, Any]]
    read: Callable[[Any], Any]
    restore: Callable[[Chat, Mapping[UUID, Any]], None]


CARRIERS = (Carrier("recall", "recall card", exported_recalls, read_recall, import_recalls),)


def with_carried(chat: Chat, batches: Iterable[list[Message]]) -> Iterator[list[Message]]:
    """Yield the same messages with what the apps carry in the ``extra`` of their active swipes. Nothing is saved."""
    for batch in batches:
        for carrier in CARRIERS:
            carried = carrier.export(chat, batch)
            for message in batch:
                if message.pk in carried:
                    _put(message, carrier.key, carried[message.pk])
        yield batch


def _put(message: Message, key: str, value: Any) -> None:
    swipe = message.active_swipe
    swipe.extra = swipe.extra | {LOCI_NAMESPACE: namespace_of(swipe.extra, LOCI_NAMESPACE) | {key: value}}
    message.layout = forget_layout(message.layout, ["extra"])


@dataclass
class CarriedData:
    """What the messages of a file carry, taken out of them while they are read."""

    report: ImportReport
    _taken: dict[int, dict[str, Any]] = field(default_factory=dict)  # by index in the chat, and by key

    def take(self, messages: Iterable[ParsedMessage]) -> Iterator[ParsedMessage]:
        """Yield the messages without what the apps can read. Leave and report what is damaged."""
        for index, message in enumerate(messages):
            taken: dict[str, Any] = {}
            given = namespace_of(message.active.extra, LOCI_NAMESPACE)
            for carrier in CARRIERS:
                if carrier.key in given:
                    value = carrier.read(given[carrier.key])
                    if value is None:
                        self.report.warn_message(index + 1, f"A {carrier.label} was damaged: it was not read.")
                    else:
                        taken[carrier.key] = value
            if taken:
                self._taken[index] = taken
                message = _without(message, taken)
            yield message

    def restore(self, chat: Chat, messages: Iterable[Message]) -> None:
        """Make the rows of messages that were just stored."""
        stored = {message.pk: self._taken.pop(message.index, {}) for message in messages}
        for carrier in CARRIERS:
            values = {pk: taken[carrier.key] for pk, taken in stored.items() if carrier.key in taken}
            if values:
                carrier.restore(chat, values)


def _without(message: ParsedMessage, keys: Iterable[str]) -> ParsedMessage:
    active = message.active
    rest = {key: value for key, value in namespace_of(active.extra, LOCI_NAMESPACE).items() if key not in keys}
    extra = {key: value for key, value in active.extra.items() if key != LOCI_NAMESPACE}
    swipes = list(message.swipes)
    # Replaced in place, so that the keys of ``extra`` keep their order.
    swipes[message.swipe_id] = replace(active, extra=active.extra | {LOCI_NAMESPACE: rest} if rest else extra)
    return replace(message, swipes=tuple(swipes), layout=forget_layout(message.layout, ["extra"]))
