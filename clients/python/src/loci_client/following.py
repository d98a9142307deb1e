"""Follow the state of a chat."""

from collections import deque

from loci_client import calls
from loci_client.errors import Gone, IntegrityConflict, LociError, UnknownMessage
from loci_client.reading import read_chat
from loci_client.requests import Flow
from loci_client.state import ChatState, Delta
from loci_client.types import Change, Message, Tombstone

OWN_REVS = 10_000  # kept, so that ``watch`` leaves out the session's own writes


class Follower:
    """The known state of a chat, and flows that update it. The caller must run one flow at a time."""

    def __init__(self, chat_id: str, *, replica: bool) -> None:
        self.chat_id = chat_id
        self.replica = replica
        self.state: ChatState | None = None
        self._is_behind = False
        self._own: deque[int] = deque(maxlen=OWN_REVS)
        self._known_tombstones: set[tuple[str, str]] = set()
        self._tombstones_until: str | None = None

    @property
    def known(self) -> ChatState:
        if self.state is None:
            raise LociError("The session has no state yet: call load().")
        return self.state

    def load(self) -> Flow[ChatState]:
        """Read the chat, or its changes since the known state. Return the new state."""
        if self.state is None:
            yield from self._reload()
        else:
            yield from self._catch_up()
        return self.known

    def news(self, since: str) -> Flow[tuple[list[Change], str]]:
        """Return the changes by others since the state ``since``, and the integrity of the new state.

        If the log doesn't go back so far, return a change of the kind ``reload`` with the whole known state.
        """
        try:
            reply = yield from calls.get_changes(self.chat_id, since)
        except Gone:
            yield from self._reload()
            found = yield from self._read_tombstones(self._tombstones_until)
            return [_reloaded(self.known), *self._new_tombstones(found)], self.known.integrity
        tombstones = reply["tombstones"]
        if reply.get("tombstones_complete", True):
            self._tombstones_until = reply.get("tombstones_until")
        else:
            tombstones += yield from self._read_tombstones(reply["tombstones_until"])
        self.state = self.known.after(reply["changes"], reply["integrity"], reply["rev"])
        changes = [change for change in reply["changes"] if change["rev"] not in self._own]
        return changes + self._new_tombstones(tombstones), reply["integrity"]

    def _read_tombstones(self, since: str | None) -> Flow[list[Tombstone]]:
        found = yield from calls.get_tombstones(self.chat_id, since)
        self._tombstones_until = found["until"]
        return found["tombstones"]

    def _new_tombstones(self, tombstones: list[Tombstone]) -> list[Change]:
        """Return a change with the tombstones that no earlier reply had, or none."""
        new = [each for each in tombstones if (each["id"], each["at"]) not in self._known_tombstones]
        self._known_tombstones.update((each["id"], each["at"]) for each in new)
        if not new:
            return []
        change: Change = {
            "rev": self.known.rev,
            "integrity": self.known.integrity,
            "kind": "tombstones",
            "at": new[-1]["at"],
            "messages": [],
            "deleted": [],
            "metadata": None,
            "tombstones": new,
        }
        return [change]

    def _ready(self) -> Flow[None]:
        if self.state is None or self._is_behind:
            yield from self.load()

    def _reload(self) -> Flow[Delta]:
        """Read the whole chat. Return the delta to the known state."""
        old = self.state.messages if self.state else None
        self.state = yield from read_chat(self.chat_id, with_messages=self.replica)
        self._is_behind = False
        if self.state.messages is None:
            return Delta(complete=False)
        touched = {message["id"]: message for message in self.state.messages}
        return Delta(touched, frozenset({message["id"] for message in old or ()} - touched.keys()))

    def _catch_up(self) -> Flow[None]:
        try:
            reply = yield from calls.get_changes(self.chat_id, self.known.integrity)
        except Gone:
            yield from self._reload()
            return
        self.state = self.known.after(reply["changes"], reply["integrity"], reply["rev"])
        self._is_behind = False

    def _learn(self, conflict: IntegrityConflict) -> Flow[Delta]:
        """Apply the changes by others that a conflict reports. Return them as a delta."""
        changes, integrity, rev = conflict.changes, conflict.current_integrity, conflict.current_rev
        if integrity == self.known.integrity:
            return Delta.of((), conflict.conflicts)
        if changes is None or integrity is None or rev is None:
            return (yield from self._reload())
        self.state = self.known.after(changes, integrity, rev)
        return Delta.of(changes, conflict.conflicts)

    def _find(self, message: Message | str) -> Flow[Message]:
        """Return the message of a document or id. Raise UnknownMessage."""
        if not isinstance(message, str):
            return message
        known = self.known.find(message)
        if known is None and self.replica:
            yield from self._catch_up()
            known = self.known.find(message)
        if known is None:
            raise UnknownMessage(f"The session knows no message {message}. Without a replica, pass its document.")
        return known


def _reloaded(state: ChatState) -> Change:
    return {
        "rev": state.rev,
        "integrity": state.integrity,
        "kind": "reload",
        "at": None,
        "messages": list(state.messages or ()),
        "deleted": [],
        "metadata": dict(state.metadata),
        "metadata_replaced": True,
    }
