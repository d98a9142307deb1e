"""What an extractor proposes to remember, before anything is stored. Pure."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

IMPORTANCE = 2  # where a proposal names none
ENTITY_KINDS = ("character", "place", "object", "faction", "concept")
UNKNOWN = "unknown"
MAGNITUDES = ("low", "medium", "high")
MEDIUM = "medium"
LEDGER_FIELDS = {
    "character": ("location", "mood", "injuries", "goal", "outfit", "carried"),
    "object": ("condition", "owner", "location"),
    "place": ("occupants", "hazards", "control"),
    "faction": ("leadership", "objective", "alliances"),
}


@dataclass(frozen=True)
class NamedEntity:
    """Somebody or something that a memory names; ``kind`` is one of ENTITY_KINDS or "unknown"."""

    name: str
    kind: str = UNKNOWN


@dataclass(frozen=True)
class Candidate:
    """A memory as a model proposes it. ``sources`` are the numbers of the turns that it was offered."""

    kind: str
    text: str
    importance: int = IMPORTANCE
    expiration: str = "permanent"
    sources: tuple[int, ...] = ()
    entities: tuple[NamedEntity, ...] = ()


def candidate_hash(candidate: Candidate, source_ids: Iterable[object]) -> str:
    """What makes a line about the same messages the same, so that it is written once however often it is read."""
    parts = [candidate.kind, " ".join(candidate.text.split()), *sorted(map(str, source_ids))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class KnowledgeLine:
    """What ``subject`` knows, suspects, wrongly believes, is unaware of, or hides from ``target`` ("" for anybody)."""

    kind: str
    subject: str
    target: str
    text: str


@dataclass(frozen=True)
class StateLine:
    """The state of an entity: values by field of LEDGER_FIELDS[type], and the fields that no longer hold."""

    name: str
    type: str
    fields: dict[str, str] = field(default_factory=dict)
    cleared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Descriptor:
    """A word for how somebody stands to somebody; ``magnitude`` is one of MAGNITUDES."""

    word: str
    magnitude: str = MEDIUM


@dataclass(frozen=True)
class RelationshipLine:
    """How ``subject`` now stands to ``target``, and what holds no longer."""

    subject: str
    target: str
    added: tuple[Descriptor, ...] = ()
    removed: tuple[str, ...] = ()
