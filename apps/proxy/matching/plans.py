"""What is compared with a client's turns, and the changes that follow. Nothing here reads or writes the database."""

from dataclasses import dataclass, field
from uuid import UUID

from apps.proxy.requests.turns import Turn


@dataclass(frozen=True)
class Entry:
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


@dataclass
class Plan:
    """What a client has changed since its last request, to be applied to the stored messages.

    ``matched`` are positions of equal entries and turns, of which ``respaced`` differ in white space, and ``cleaned``
    are stored with an instruction of the client. ``edits`` are
    entries with the turns that replace their texts. Of these, ``selected`` have the text as one of their swipes
    already. ``insertions`` are turns with the message that
    they precede. ``anchor`` is the message of the last turn, None if that is new. ``known`` are afterwards the
    messages that the client has, with their keys; None stands for a new message. ``cut`` counts user messages that the
    client dropped from the end, ``tail`` all messages there, ``last_kept`` is the last message before them.
    """

    matched: list[tuple[int, int]] = field(default_factory=list)
    respaced: list[tuple[Entry, Turn]] = field(default_factory=list)
    cleaned: list[tuple[Entry, Turn]] = field(default_factory=list)
    edits: list[tuple[Entry, Turn]] = field(default_factory=list)
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
