"""What of a request is compared with a chat, and the changes that follow. Nothing here reads or writes the database."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

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
        return bool(self.key & 1)


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
        users = [key for key in self.keys if key & 1]
        return list(dict.fromkeys([*users[:1], *users[-KEPT_FINGERPRINTS:], *self.ends]))


# Returns the shown texts of messages by id. It is called only where keys don't tell enough.
Texts = Callable[[tuple[UUID, ...]], Mapping[UUID, str]]


class ShownTexts(Protocol):
    """The texts that the messages of a chat show at present."""

    def of(self, ids: tuple[UUID, ...]) -> Mapping[UUID, str]:
        """Return the texts of messages by id."""

    def changed(self, messages: Sequence[ComparedMessage]) -> set[UUID]:
        """Return the ids of those messages that somebody else has changed since the client had them."""


@dataclass
class ChangePlan:
    """What a client has changed since its last request, to be applied to the stored messages.

    ``matched`` are positions of equal messages and turns, of which ``respaced`` differ in white space, and ``cleaned``
    are stored with an instruction of the client. ``edits`` are messages with the turns that replace their texts. Of
    these, ``selected`` have the text as one of their swipes already. ``insertions`` are turns with the message that
    they precede. ``anchor`` is the message of the last turn, None if that is new. ``known`` are afterwards the
    messages that the client has, with their keys; None stands for a new message. ``cut`` counts user messages that the
    client dropped from the end, ``tail`` all messages there, ``last_kept`` is the last message before them.
    """

    matched: list[tuple[int, int]] = field(default_factory=list)
    respaced: list[tuple[ComparedMessage, Turn]] = field(default_factory=list)
    cleaned: list[tuple[ComparedMessage, Turn]] = field(default_factory=list)
    edits: list[tuple[ComparedMessage, Turn]] = field(default_factory=list)
    selected: set[UUID] = field(default_factory=set)
    tools: dict[UUID, Turn] = field(default_factory=dict)
    deletions: list[UUID] = field(default_factory=list)
    insertions: list[tuple[UUID, Turn]] = field(default_factory=list)
    appended: list[Turn] = field(default_factory=list)
    anchor: UUID | None = None
    known: list[tuple[UUID | None, int]] = field(default_factory=list)
    cut: int = 0
    tail: int = 0
    last_kept: UUID | None = None

    @property
    def equal(self) -> int:
        """Return the number of turns that are equal to a message or a swipe of it."""
        return len(self.matched) + len(self.selected)

    @property
    def changes(self) -> int:
        """Return the number of changes besides new turns at the end and another choice of swipes."""
        return len(self.edits) - len(self.selected) + len(self.deletions) + len(self.insertions)
