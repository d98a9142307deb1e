"""The writes of a session, as flows of requests. Each is stored, or raises the reason why not."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from loci_client import calls
from loci_client.errors import Clash, EditConflict, IntegrityConflict, LociError
from loci_client.following import Follower
from loci_client.messages import as_patched, compact
from loci_client.rebase import metadata_clashes, move_clashes, operation_clashes, rebase_patches
from loci_client.requests import Flow
from loci_client.retries import RetryPolicy
from loci_client.types import (
    Chat,
    DataChange,
    Message,
    MetadataWritten,
    NewMessage,
    Operation,
    Patch,
    Patched,
    Place,
    Undone,
)


class SessionCore(Follower):
    """The flows of a session, shared by the blocking and the asyncio client."""

    def __init__(self, chat_id: str, policy: RetryPolicy, *, replica: bool) -> None:
        super().__init__(chat_id, replica=replica)
        self._policy = policy

    def append(self, *messages: NewMessage, key: str | None = None) -> Flow[list[Place]]:
        """Append messages.

        With ``key``, an Idempotency-Key of the caller, the call is safe to repeat at any time, even by another process.
        Raise KeyReused if it was stored earlier and its reply is no longer kept, Invalid, Unavailable.
        """
        if self.replica:
            yield from self._ready()
        # No integrity is sent, since appends commute. With one, the server would take an equal message that another
        # client appended at the same time for a repetition of this one.
        reply = yield from calls.append(self.chat_id, messages, key=key)
        yield from self._accepted(reply, is_own=reply["deduplicated"] == 0)
        return reply["appended"]

    def edit(self, message: Message | str, text: str) -> Flow[Message]:
        """Change the text of a message, given by its document or, with a replica, by its id. Return the new message.

        The edit is based on the document. Raise EditConflict if another client changed the text since.
        """
        return self.change(message, {"mes": text})

    def change(
        self, message: Message | str, fields: Mapping[str, Any] | None = None, *, extra: Mapping[str, Any] | None = None
    ) -> Flow[Message]:
        """Set fields of a message (mes, name, is_system, send_date, participant) and merge ``extra`` into its extra.

        Return the new message. Raise EditConflict if another client changed one of the fields, Invalid, UnknownMessage.
        """
        yield from self._ready()
        base = yield from self._find(message)
        wanted: Patch = {"id": base["id"], "if_rev": base["rev"]}
        if fields:
            wanted["set"] = dict(fields)
        if extra:
            wanted["extra"] = dict(extra)
        bases = {base["id"]: base}
        places = yield from self._patch([wanted], bases)
        return self._current(bases[base["id"]], wanted, places)

    def set_data(
        self, message: Message | str, namespace: str, values: Mapping[str, Any], *, clear: Sequence[str] = ()
    ) -> Flow[None]:
        """Set keys of a namespace of the message's active swipe, and delete those in ``clear``. None is a value.

        Raise EditConflict if another client changed one of the keys since, UnknownMessage.
        """
        yield from self._ready()
        base = yield from self._find(message)
        data: DataChange = {"namespace": namespace, "values": values, "clear": clear}
        yield from self._patch([{"id": base["id"], "if_rev": base["rev"], "data": data}], {base["id"]: base})

    def move_data(self, message: Message | str, namespace: str, old: str, new: str) -> Flow[None]:
        """Move the value of the key ``old`` to ``new``, if there is one. Raise as ``set_data``."""
        yield from self._ready()
        base = yield from self._find(message)
        data = base["extra"].get(namespace)
        if isinstance(data, dict) and old in data:
            yield from self.set_data(base, namespace, {new: data[old]}, clear=[old])

    def delete(self, message: Message | str) -> Flow[None]:
        """Delete a message. Raise EditConflict if another client changed the text since, UnknownMessage."""
        yield from self._ready()
        base = yield from self._find(message)
        yield from self._patch([{"id": base["id"], "if_rev": base["rev"], "delete": True}], {base["id"]: base})

    def patch(self, *patches: Patch, key: str | None = None) -> Flow[list[Place]]:
        """Apply all of the patches to messages, or none. Return the positions of the messages.

        Each patch must name its message by id. A patch is sent again if other clients changed other fields. Raise
        EditConflict if they changed the same fields or, without a replica, anything in the message. ``key`` is as in
        ``append``.
        """
        if not all("id" in one for one in patches):
            raise ValueError("Each patch must name its message by id: an index may refer to another message by now.")
        yield from self._ready()
        found = {one["id"]: self.known.find(one["id"]) for one in patches}
        bases = {name: base for name, base in found.items() if base is not None}
        return (yield from self._patch(patches, bases, key))

    def patch_metadata(self, changes: Mapping[str, Any]) -> Flow[dict[str, Any]]:
        """Apply a merge patch (RFC 7396) to the metadata. Return the new metadata.

        Raise EditConflict if another client changed one of the same values.
        """
        return self._write_metadata(
            lambda integrity: calls.patch_metadata(self.chat_id, changes, integrity=integrity),
            lambda before, now: metadata_clashes(changes, before, now),
        )

    def operate_on_metadata(self, *operations: Operation) -> Flow[dict[str, Any]]:
        """Apply a JSON Patch (RFC 6902) to the metadata. Return the new metadata.

        Raise EditConflict if another client changed a top-level key that the operations name.
        """
        return self._write_metadata(
            lambda integrity: calls.operate_on_metadata(self.chat_id, operations, integrity=integrity),
            lambda before, now: operation_clashes(operations, before, now),
        )

    def undo(self) -> Flow[Undone]:
        """Undo the last write to the chat, if its token is that of the session.

        Raise NothingToUndo, UndoConflict if another token wrote last, and IntegrityConflict if the chat was written
        since the last reply. The session knows that write then.
        """
        yield from self._ready()
        try:
            reply = yield from calls.undo(self.chat_id, integrity=self.known.integrity)
        except IntegrityConflict as conflict:
            yield from self._learn(conflict)
            raise
        yield from self._accepted(reply, is_own=True, is_adoptable=False)
        return reply

    def branch(self, at: int, *, title: str | None = None, checkpoint: bool = False) -> Flow[Chat]:
        """Create a chat from the messages of this one up to index ``at``, inclusive."""
        return calls.branch_chat(self.chat_id, at, title=title, checkpoint=checkpoint)

    def _patch(self, patches: Sequence[Patch], bases: dict[str, Message], key: str | None = None) -> Flow[list[Place]]:
        """Send patches until they are stored. Update ``bases`` with the messages that other clients change."""
        todo = list(patches)
        key = key or str(uuid.uuid4())  # one for the call, so that the caller can repeat it whichever try got no reply
        for _ in range(self._policy.rebases):
            try:
                reply = yield from self._send(todo, bases, key)
            except IntegrityConflict as conflict:
                last = conflict
            else:
                yield from self._accepted(reply, is_own=reply["applied"] > 0)
                return reply["messages"]
            delta = yield from self._learn(last)
            if not delta.complete and not all("if_rev" in one for one in todo):
                raise last
            contested = {conflict["id"] for conflict in last.conflicts if "id" in conflict}
            clashes = move_clashes(todo, bases, contested or {one["id"] for one in todo})
            todo, more = rebase_patches(todo, bases, delta)
            if clashes := clashes + more:
                raise EditConflict(clashes) from last
            bases |= {name: message for name, message in delta.touched.items() if name in bases}
            if not todo:
                return []
        raise last

    def _send(self, patches: list[Patch], bases: Mapping[str, Message], key: str) -> Flow[Patched]:
        named = [one["id"] for one in patches]
        short = [compact(one, bases.get(one["id"])) if named.count(one["id"]) == 1 else one for one in patches]
        return calls.patch(self.chat_id, short, integrity=self.known.integrity, on_conflict="rebase", key=key)

    def _write_metadata(
        self,
        send: Callable[[str], Flow[MetadataWritten]],
        clashes_between: Callable[[Mapping[str, Any], Mapping[str, Any]], list[Clash]],
    ) -> Flow[dict[str, Any]]:
        yield from self._ready()
        for _ in range(self._policy.rebases):
            before = self.known.metadata
            try:
                reply = yield from send(self.known.integrity)
            except IntegrityConflict as conflict:
                last = conflict
            else:
                yield from self._accepted(reply, is_own=reply["applied"] > 0)
                return reply["metadata"]
            yield from self._learn(last)
            if clashes := clashes_between(before, self.known.metadata):
                raise EditConflict(clashes) from last
        raise last

    def _accepted(self, reply: Mapping[str, Any], *, is_own: bool, is_adoptable: bool = True) -> Flow[None]:
        """Record that a write was stored. Read the new state if the reply doesn't contain it."""
        if is_own:
            self._own.append(reply["rev"])
        state = self.state
        if state is None or reply["rev"] <= state.rev:
            return
        if is_own and is_adoptable and not self.replica and reply["rev"] == state.rev + 1:
            metadata = reply.get("metadata", state.metadata)
            self.state = replace(state, integrity=reply["integrity"], rev=reply["rev"], metadata=metadata)
            return
        self._is_behind = True
        if self.replica:
            # The write is stored: an error while reading its effect must not look like a failed write.
            with suppress(LociError):
                yield from self._catch_up()

    def _current(self, base: Message, patch: Patch, places: Sequence[Place]) -> Message:
        found = None if self._is_behind else self.known.find(base["id"])
        return found or as_patched(base, patch, places)
