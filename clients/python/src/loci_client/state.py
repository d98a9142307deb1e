"""The known state of a chat, and the application of changes to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loci_client.documents import merged
from loci_client.types import Change, Conflict, Message


@dataclass(frozen=True)
class Delta:
    """The effect of changes: the present messages by id, and the ids of deleted ones.

    It is not ``complete`` if other messages may have changed, since the log did not go back so far.
    """

    touched: Mapping[str, Message] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    complete: bool = True

    @classmethod
    def of(cls, changes: Iterable[Change], conflicts: Iterable[Conflict] = ()) -> "Delta":
        entries = list(changes)
        touched = {message["id"]: message for entry in entries for message in entry["messages"]}
        deleted = {gone for entry in entries for gone in entry["deleted"]}
        for conflict in conflicts:
            if "id" not in conflict:
                continue
            if conflict["theirs"] is None:
                deleted.add(conflict["id"])
            else:
                touched[conflict["id"]] = conflict["theirs"]
        return cls(touched, frozenset(deleted - touched.keys()))


@dataclass(frozen=True)
class ChatState:
    """A chat at one ``rev``. ``messages`` is None without a replica."""

    integrity: str
    rev: int
    metadata: Mapping[str, Any]
    messages: tuple[Message, ...] | None = None

    def find(self, message_id: str) -> Message | None:
        return next((message for message in self.messages or () if message["id"] == message_id), None)

    def after(self, changes: Sequence[Change], integrity: str, rev: int) -> "ChatState":
        """Return the state after ``changes``, which may begin before this state and are applied as one set."""
        if rev <= self.rev:
            return self
        metadata = _metadata_after(self.metadata, [change for change in changes if change["rev"] > self.rev])
        messages = None if self.messages is None else messages_after(self.messages, Delta.of(changes))
        return replace(self, integrity=integrity, rev=rev, metadata=metadata, messages=messages)


def _metadata_after(metadata: Mapping[str, Any], changes: Iterable[Change]) -> Mapping[str, Any]:
    for change in changes:
        if change.get("metadata_replaced"):
            metadata = change["metadata"] or {}
        elif change["metadata"] is not None:
            values = {key: change["metadata"][key] for key in change.get("replaced_keys", ())}
            metadata = {**merged(metadata, change["metadata"]), **values}
    return metadata


def messages_after(messages: Iterable[Message], delta: Delta) -> tuple[Message, ...]:
    """Return the messages after a delta. Untouched messages keep their order and get new indexes."""
    rest = [
        message for message in messages if message["id"] not in delta.deleted and message["id"] not in delta.touched
    ]
    for message in sorted(delta.touched.values(), key=lambda message: message["index"]):
        rest.insert(message["index"], message)
    return tuple(_numbered(message, index) for index, message in enumerate(rest))


def _numbered(message: Message, index: int) -> Message:
    if message["index"] == index:
        return message
    return {**message, "index": index}
