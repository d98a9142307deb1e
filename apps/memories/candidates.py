"""Parsed proposals of an extractor: candidates for memories, and lines for the layers. Without database access."""

from dataclasses import dataclass, field

DEFAULT_IMPORTANCE = 2  # for a proposal that states none
ENTITY_KINDS = ("character", "place", "object", "faction", "concept")
UNKNOWN_KIND = "unknown"
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
    """An entity that a memory names; ``kind`` is one of ENTITY_KINDS or "unknown"."""

    name: str
    kind: str = UNKNOWN_KIND


@dataclass(frozen=True)
class Candidate:
    """A proposed memory.

    ``sources`` are the numbers of the turns that it cites, ``known_to`` the names of those who learnt it (empty: all),
    ``triggers`` words that recall it.
    """

    kind: str
    text: str
    importance: int = DEFAULT_IMPORTANCE
    expiration: str = "permanent"
    sources: tuple[int, ...] = ()
    entities: tuple[NamedEntity, ...] = ()
    known_to: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()


@dataclass(frozen=True)
class KnowledgeLine:
    """A statement that ``subject`` knows, suspects, believes, is unaware of or hides from ``target``."""

    kind: str
    subject: str
    target: str
    text: str


@dataclass(frozen=True)
class StateLine:
    """A line about an entity's state: values by field of LEDGER_FIELDS[type], and the fields to clear."""

    name: str
    type: str
    fields: dict[str, str] = field(default_factory=dict)
    cleared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Descriptor:
    """A word for how one person relates to another; ``magnitude`` is one of MAGNITUDES."""

    word: str
    magnitude: str = MEDIUM


@dataclass(frozen=True)
class RelationshipLine:
    """A line about how ``subject`` relates to ``target``: descriptors to add, and words to remove."""

    subject: str
    target: str
    added: tuple[Descriptor, ...] = ()
    removed: tuple[str, ...] = ()
