"""What both kinds of ``Mirror`` share: writes to the local copy of a chat, and the flows that sync it."""

import copy
import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loci_client.core import SessionCore
from loci_client.documents import merged
from loci_client.errors import UnknownMessage
from loci_client.messages import as_patched
from loci_client.requests import Flow
from loci_client.retries import RetryPolicy
from loci_client.state import ChatState
from loci_client.types import Message, NewMessage


class MirrorCore:
    """The local copy of a chat and what was written to it since, kept in the JSON file at ``path`` if one is given."""

    def __init__(self, chat_id: str, policy: RetryPolicy, path: str | os.PathLike[str] | None = None) -> None:
        self._core = SessionCore(chat_id, policy, replica=True)
        self._path = Path(path) if path is not None else None
        self._waiting: list[dict[str, Any]] = []
        if self._path and self._path.exists():
            stored = json.loads(self._path.read_text("utf-8"))
            self._waiting = stored["waiting"]
            if state := stored["state"]:
                self._core.state = ChatState(**state | {"messages": tuple(state["messages"])})

    @property
    def pending(self) -> int:
        """The number of writes that are not pushed yet."""
        return len(self._waiting)

    @property
    def messages(self) -> list[Message]:
        """The messages as of the last pull or push, with what was written here since. New ones have no id yet."""
        messages: list[Any] = list(self._core.known.messages or ())
        for write in self._waiting:
            messages = _laid_over(messages, write)
        return messages

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata as of the last pull or push, with what was written here since."""
        metadata: Mapping[str, Any] = self._core.known.metadata
        for write in self._waiting:
            if write["do"] == "metadata":
                metadata = merged(metadata, write["changes"])
        return metadata

    def append(self, *messages: NewMessage) -> None:
        """Append messages."""
        self._write(do="append", messages=list(messages))

    def edit(self, message_id: str, text: str) -> None:
        """Change the text of a message. Raise UnknownMessage."""
        self.change(message_id, {"mes": text})

    def change(
        self, message_id: str, fields: Mapping[str, Any] | None = None, *, extra: Mapping[str, Any] | None = None
    ) -> None:
        """Set fields of a message, and merge ``extra`` into its extra. Raise UnknownMessage."""
        self._write(do="change", base=self._base(message_id), fields=dict(fields or {}), extra=dict(extra or {}))

    def set_data(
        self, message_id: str, namespace: str, values: Mapping[str, Any], *, clear: Sequence[str] = ()
    ) -> None:
        """Set keys of a namespace of a message, and delete those in ``clear``. Raise UnknownMessage."""
        base = self._base(message_id)
        self._write(do="data", base=base, namespace=namespace, values=dict(values), clear=list(clear))

    def delete(self, message_id: str) -> None:
        """Delete a message. Raise UnknownMessage."""
        self._write(do="delete", base=self._base(message_id))

    def patch_metadata(self, changes: Mapping[str, Any]) -> None:
        """Apply a merge patch (RFC 7396) to the metadata."""
        self._write(do="metadata", changes=dict(changes))

    def discard(self) -> None:
        """Forget the write that stopped the last push, or the first one that waits. Nothing happens without any."""
        del self._waiting[:1]
        self._save()

    def _base(self, message_id: str) -> Message:
        """Return the message that a write starts from: as the server had it, so that what others change is noticed."""
        known = self._core.known.find(message_id)
        if known is None or message_id not in [message["id"] for message in self.messages]:
            raise UnknownMessage(f"The mirror has no message {message_id}.")
        return known

    def _write(self, **write: Any) -> None:
        # The key makes a write that is pushed twice, after a lost reply, arrive once.
        self._waiting.append(copy.deepcopy(write) | {"key": str(uuid.uuid4())})
        self._save()

    def _pulling(self) -> Flow[None]:
        yield from self._core.load()
        self._save()

    def _pushing(self) -> Flow[None]:
        """Send the writes in their order. One that conflicts or is refused stays, and so do those behind it."""
        if self._core.state is None:
            yield from self._core.load()
        while self._waiting:
            yield from self._sending(self._waiting[0])
            done = self._waiting.pop(0)
            self._rebase(done)
            self._save()
        self._save()

    def _sending(self, write: dict[str, Any]) -> Flow[Any]:
        core = self._core
        if write["do"] == "append":
            return (yield from core.append(*write["messages"], key=write["key"]))
        if write["do"] == "metadata":
            return (yield from core.patch_metadata(write["changes"]))
        if write["do"] == "data":
            return (yield from core.set_data(write["base"], write["namespace"], write["values"], clear=write["clear"]))
        if write["do"] == "delete":
            return (yield from core.delete(write["base"]))
        return (yield from core.change(write["base"], write["fields"], extra=write["extra"]))

    def _rebase(self, done: dict[str, Any]) -> None:
        """Have later writes to the same message start from what this one left, which nobody else wrote."""
        if "base" not in done:
            return
        now = self._core.known.find(done["base"]["id"])
        for write in self._waiting:
            if now is not None and "base" in write and write["base"]["id"] == now["id"]:
                write["base"] = now

    def _save(self) -> None:
        if self._path is None:
            return
        state = self._core.state
        known = state and {
            "integrity": state.integrity,
            "rev": state.rev,
            "metadata": state.metadata,
            "messages": list(state.messages or ()),
        }
        written = self._path.with_name(f"{self._path.name}.new")
        written.write_text(json.dumps({"state": known, "waiting": self._waiting}), "utf-8")
        written.replace(self._path)  # so that a crash leaves the old or the new file


def _laid_over(messages: Iterable[Any], write: Mapping[str, Any]) -> list[Any]:
    """Return the messages with a write in them."""
    if write["do"] == "append":
        return [*messages, *({"id": None, **message} for message in write["messages"])]
    if write["do"] == "metadata":
        return list(messages)
    name = write["base"]["id"]
    if write["do"] == "delete":
        return [message for message in messages if message["id"] != name]
    return [_changed(message, write) if message["id"] == name else message for message in messages]


def _changed(message: Message, write: Mapping[str, Any]) -> Message:
    if write["do"] == "change":
        return as_patched(message, {"set": write["fields"], "extra": write["extra"]}, ())
    known = message["extra"].get(write["namespace"])
    data = {**(known if isinstance(known, dict) else {}), **write["values"]}
    kept = {key: value for key, value in data.items() if key not in write["clear"]}
    return {**message, "extra": {**message["extra"], write["namespace"]: kept}}
