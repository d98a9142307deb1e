"""What a document of another program holds, in Loci's terms. Without database access."""

from dataclasses import dataclass, field
from typing import Any

from apps.memories.candidates import KnowledgeLine, NamedEntity, RelationshipLine, StateLine

Span = tuple[int, int]  # indexes of the first and the last message


@dataclass(frozen=True)
class FoundMemory:
    """A memory. ``key`` is its id in the document, ``superseded_by`` the key of its successor; empty if it has none.

    ``known_to`` are the names of those who witnessed it (empty: all). ``outdated`` ones have no known successor.
    """

    tier: str
    kind: str
    text: str
    key: str = ""
    importance: int = 2
    expiration: str = "permanent"
    confidence: float = 0.7
    triggers: tuple[str, ...] = ()
    entities: tuple[NamedEntity, ...] = ()
    known_to: tuple[str, ...] = ()
    span: Span | None = None
    superseded_by: str = ""
    outdated: bool = False
    pinned: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class FoundEntity:
    name: str
    kind: str = "unknown"
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class FoundArc:
    text: str
    resolved: bool = False
    summary: str = ""
    persistent: bool = False
    span: Span | None = None


@dataclass(frozen=True)
class FoundScene:
    """A recap of a scene that ended before ``ended_at``, in milliseconds since 1970."""

    recap: str
    ended_at: int


@dataclass(frozen=True)
class FoundText:
    """A summary, a profile or a canon: ``kind`` of VersionedText. ``name`` is whom a profile is about.

    ``last`` is the index of the last message that it covers, or None.
    """

    kind: str
    text: str = ""
    name: str = ""
    parts: dict[str, Any] = field(default_factory=dict)
    last: int | None = None


@dataclass
class Found:
    """Everything that a document holds, and what of it could not be read."""

    memories: list[FoundMemory] = field(default_factory=list)
    entities: list[FoundEntity] = field(default_factory=list)
    arcs: list[FoundArc] = field(default_factory=list)
    scenes: list[FoundScene] = field(default_factory=list)
    texts: list[FoundText] = field(default_factory=list)
    knowledge: list[tuple[KnowledgeLine, Span | None]] = field(default_factory=list)
    states: list[StateLine] = field(default_factory=list)
    relationships: list[RelationshipLine] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Record once that something was not read."""
        if text not in self.warnings:
            self.warnings.append(text)
