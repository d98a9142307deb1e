"""What a session knows of its chat, and how it keeps in step with it."""

from collections import deque

from loci_client import calls
from loci_client.errors import Gone, IntegrityConflict, LociError, UnknownMessage
from loci_client.reading import read_chat
from loci_client.requests import Flow
from loci_client.state import ChatState, Delta
from loci_client.types import Change, Message

OWN_REVS = 10_000  # remembered, so that whoever watches isn't told of the session's own writes


class Follower:
    """Its methods are conversations with the server. Only one at a time: whoever carries them out holds a lock."""

    def __init__(self, chat_id: str, *, replica: bool) -> None:
        self.chat_id = chat_id
        self.replica = replica
        self.state: ChatState | None = None
        self._is_behind = False
        self._own: deque[int] = deque(maxlen=OWN_REVS)

    @property
    def known(self) -> ChatState:
        if self.state is None:
            raise LociError("The session knows nothing yet: call load().")
        return self.state

    def load(self) -> Flow[ChatState]:
        """Read the chat, or what is new in it."""
        if self.state is None:
            yield from self._read_anew()
        else:
            yield from self._catch_up()
        return self.known

    def news(self, since: str) -> Flow[tuple[list[Change], str]]:
        """What others wrote after the state ``since``, and the state that this leads to.

        Where the log doesn't reach back, one change of the kind ``reload`` holds all that the session knows.
        """
        try:
            reply = yield from calls.get_changes(self.chat_id, since)
        except Gone:
            yield from self._read_anew()
            return [_reloaded(self.known)], self.known.integrity
        self.state = self.known.after(reply["changes"], reply["integrity"], reply["rev"])
        return [change for change in reply["changes"] if change["rev"] not in self._own], reply["integrity"]

    def _ready(self) -> Flow[None]:
        if self.state is None or self._is_behind:
            yield from self.load()

    def _read_anew(self) -> Flow[Delta]:
        """All of it; as a delta, everything that a replica holds now."""
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
            yield from self._read_anew()
            return
        self.state = self.known.after(reply["changes"], reply["integrity"], reply["rev"])
        self._is_behind = False

    def _learn(self, conflict: IntegrityConflict) -> Flow[Delta]:
        """Take over what a conflict tells of the writes of others."""
        changes, integrity, rev = conflict.changes, conflict.current_integrity, conflict.current_rev
        if integrity == self.known.integrity:
            return Delta.of((), conflict.conflicts)
        if changes is None or integrity is None or rev is None:
            return (yield from self._read_anew())
        self.state = self.known.after(changes, integrity, rev)
        return Delta.of(changes, conflict.conflicts)

    def _find(self, message: Message | str) -> Flow[Message]:
        """The message as the caller knows it. Raises UnknownMessage."""
        if not isinstance(message, str):
            return message
        found = self.known.find(message)
        if found is None and self.replica:
            yield from self._catch_up()
            found = self.known.find(message)
        if found is None:
            raise UnknownMessage(f"There is no message {message} here. Without a replica, give its document.")
        return found


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
