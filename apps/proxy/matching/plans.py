"""What of a request is compared with a chat, and the changes that follow. Nothing here reads or writes the database."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from apps.proxy.matching.keys import is_by_user
from apps.proxy.requests.conversations import ClientRequest
from apps.proxy.requests.turns import Turn

KEPT_FINGERPRINTS = 40


@dataclass(frozen=True)
class ComparedMessage:
    """A message of a chat. ``key`` identifies its speaker and its text as the client has it, see ``key_of``.

    ``is_known``: the client has sent or received it. ``is_fixed``: the client's history neither changes nor deletes
    it, since it was written by somebody else or is hidden. ``is_stored`` is False if somebody else has deleted it.
    ``name`` is who speaks, as stored.
    """

    id: UUID
    key: int
    is_known: bool = True
    is_fixed: bool = False
    is_stored: bool = True
    name: str = ""

    @property
    def is_user(self) -> bool:
        return is_by_user(self.key)


@dataclass(frozen=True)
class KeyedRequest:
    """What of a request is compared with a chat: the turns that were sent, or what of them is said, with their keys.

    ``opening`` is the key of the system messages before the first turn. ``instructions`` are keys of paragraphs that
    nobody says, ``ends`` those of paragraphs of turns that may have such in them.
    """

    client_request: ClientRequest
    turns: Sequence[Turn]
    keys: Sequence[int]
    opening: int = 0
    instructions: Sequence[int] = ()
    ends: Sequence[int] = ()

    @property
    def has_history(self) -> bool:
        """Return whether the client has sent a reply back."""
        return any(not turn.is_user for turn in self.turns)

    @property
    def asked(self) -> str:
        """Return the name of who is asked for a reply to another reply, or nothing."""
        return self.client_request.company.speaker if self.client_request.is_nudged else ""

    @property
    def fingerprints(self) -> list[int]:
        """Return by what the chat is found: the keys of the first user turn and the latest ones."""
        users = [key for key in self.keys if is_by_user(key)]
        return list(dict.fromkeys([*users[:1], *users[-KEPT_FINGERPRINTS:], *self.ends]))


# Returns the shown texts of messages by id. It is called only where keys don't tell enough.
Texts = Callable[[tuple[UUID, ...]], Mapping[UUID, str]]


class ShownTexts(Protocol):
    """The texts that the messages of a chat show at present."""

    def of(self, ids: tuple[UUID, ...]) -> Mapping[UUID, str]:
        """Return the texts of messages by id."""

    def changed(self, messages: Sequence[ComparedMessage]) -> set[UUID]:
        """Return the ids of those messages that somebody else has changed since the client had them."""

    def swipe_keys(self, messages: Sequence[ComparedMessage]) -> Mapping[UUID, Sequence[int]]:
        """Return the keys of all swipes of messages by the ids of these."""


@dataclass(frozen=True)
class DroppedEnd:
    """What the client no longer has at the end of a chat, since it went on from an earlier message.

    ``last_kept`` is the last message before that. ``user_messages`` counts those of the user, ``stored`` all that
    nobody else has deleted.
    """

    user_messages: int = 0
    stored: int = 0
    last_kept: UUID | None = None


@dataclass(frozen=True)
class ChangePlan:
    """What a client has changed since its last request, to be applied to the stored messages.

    The package's description has an example.
    """

    # Positions of equal messages and turns.
    matched: Sequence[tuple[int, int]] = ()

    # Messages that stay, with the turns whose texts they get: another one, which ``selected`` have as one of their
    # swipes already; one that differs in white space; and one without an instruction that is stored with it. Calls of
    # tools come with any of them.
    edits: Sequence[tuple[ComparedMessage, Turn]] = ()
    selected: Set[UUID] = frozenset()
    respaced: Sequence[tuple[ComparedMessage, Turn]] = ()
    cleaned: Sequence[tuple[ComparedMessage, Turn]] = ()
    tools: Mapping[UUID, Turn] = field(default_factory=dict)

    # Messages that go, and which of them are the end.
    deletions: Sequence[UUID] = ()
    dropped_end: DroppedEnd = DroppedEnd()

    # New turns: with the message that they precede, and after the last one.
    insertions: Sequence[tuple[UUID, Turn]] = ()
    appended: Sequence[Turn] = ()

    # Afterwards: the message of the last turn, None if it is new, and the messages that the client has, with their
    # keys; None stands for a new one.
    anchor: UUID | None = None
    known: Sequence[tuple[UUID | None, int]] = ()

    @property
    def equal(self) -> int:
        """Return the number of turns that are equal to a message or a swipe of it."""
        return len(self.matched) + len(self.selected)

    @property
    def changes(self) -> int:
        """Return the number of changes besides new turns at the end and another choice of swipes."""
        return len(self.edits) - len(self.selected) + len(self.deletions) + len(self.insertions)
