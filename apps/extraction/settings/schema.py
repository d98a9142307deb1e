"""Every limit, threshold and interval of the memory engine, with its default. Pure.

A document holds only what differs from the defaults: a user's, a character's over it, a chat's over both. The
defaults that depend on the hardware profile are those of A (small local models, the built-in backend) and B (hosted).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_type_hints

from apps.common.problems import FieldError, Invalid

SCHEMA_VERSION = 1
PROFILES = ("A", "B")


def _number(default: float, low: float, high: float, help: str, *, b: float | None = None) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "help": help, "b": default if b is None else b})


def _flag(default: bool, help: str, *, b: bool | None = None) -> Any:
    return field(default=default, metadata={"help": help, "b": default if b is None else b})


def _choice(default: str, choices: tuple[str, ...], help: str) -> Any:
    return field(default=default, metadata={"choices": choices, "help": help, "b": default})


@dataclass(frozen=True)
class Settings:
    """What holds for one chat."""

    profile: str = _choice("auto", ("auto", *PROFILES), "Which defaults hold: for small models, or for large ones.")
    # What is read, and when
    extract_every: int = _number(3, 1, 200, "New messages after which memories are extracted.")
    chunk: int = _number(20, 2, 200, "How many a model reads in one go.")
    chunk_share: float = _number(0.35, 0.05, 0.9, "Share of the context that the messages of a chunk may take.")
    index_messages: bool = _flag(True, "Make what was said searchable, word for word.")
    # Which tiers are kept
    summary: bool = _flag(True, "Retell what no longer fits into the context.")
    scenes: bool = _flag(True, "Find where scenes end, and retell each in a few sentences.")
    epistemic: bool = _flag(True, "Keep what each knows, suspects, believes or hides.")
    session: bool = _flag(True, "Keep what this chat alone needs.")
    long_term: bool = _flag(True, "Keep what a character carries into other chats.")
    arcs: bool = _flag(True, "Follow the threads that are open.")
    ledger: bool = _flag(True, "Keep where everybody and everything is, and how.")
    profiles: bool = _flag(True, "Sum up how each character stands now.")
    canon: bool = _flag(False, "Write a character's history anew when an arc is resolved.", b=True)
    continuity: bool = _flag(False, "Check every reply for contradictions.", b=True)
    continuity_repair: bool = _flag(False, "Write a note that repairs a contradiction.")
    # Caps
    new_per_kind: int = _number(2, 1, 50, "Taken from one reading, the most important first.", b=4)
    long_term_cap: int = _number(25, 4, 5000, "Kept active for a character.")
    session_cap: int = _number(30, 4, 5000, "Kept active in a chat.")
    arcs_cap: int = _number(10, 1, 500, "Threads followed at a time.")
    arcs_window: int = _number(100, 10, 1000, "Messages in which arcs are looked for.")
    # Consolidation: new entries of a kind
    consolidate_fact: int = _number(4, 2, 100, "New facts that start a merge.")
    consolidate_relationship: int = _number(3, 2, 100, "New relationships that start a merge.")
    consolidate_preference: int = _number(3, 2, 100, "New preferences that start a merge.")
    consolidate_event: int = _number(4, 2, 100, "New events that start a merge.")
    consolidate_session: int = _number(3, 2, 100, "New session memories of a kind that start a merge.")
    # Likeness
    duplicate: float = _number(0.82, 0.3, 1, "Cosine from which two entries of a kind are the same.", b=0.85)
    cross_kind_duplicate: float = _number(0.88, 0.3, 1, "The same for two kinds.", b=0.91)
    same_topic: float = _number(0.55, 0.1, 1, "Cosine from which two entries are about the same.", b=0.52)
    word_duplicate: float = _number(0.65, 0.2, 1, "Jaccard index from which two entries are the same.", b=0.68)
    word_cross_kind_duplicate: float = _number(0.75, 0.2, 1, "The same for two kinds.", b=0.78)
    word_same_topic: float = _number(0.40, 0.1, 1, "Jaccard index from which two are about the same.", b=0.38)
    # Confidence
    confidence: float = _number(0.7, 0, 1, "Of a new memory.")
    confirmation: float = _number(0.05, 0, 1, "Added when it is extracted again.")
    decay_after: int = _number(10, 1, 1000, "Unconfirmed passes after which it falls.")
    decay: float = _number(0.02, 0, 1, "How much it falls a pass.")
    decay_floor: float = _number(0.3, 0, 1, "Where the memory is retired.")
    # Scenes, summary, profiles
    scene_min_messages: int = _number(3, 1, 100, "Shortest scene.")
    scene_check: str = _choice("rules", ("rules", "model"), "How the end of a scene is found.")
    summary_share: float = _number(0.8, 0.1, 1, "Share of the context left for history at which it is summarised.")
    summary_tokens: int = _number(2000, 200, 8000, "Longest summary.")
    summary_keep: int = _number(10, 2, 200, "Newest messages that are never summarised.")
    profile_minutes: int = _number(30, 1, 100_000, "Age at which profiles are made anew.")
    model_triggers: bool = _flag(False, "Have the model suggest the words that bring a memory up.", b=True)
    witnesses_only: bool = _flag(True, "A group's members learn only from what they witnessed.")


DEFAULTS = Settings()
TIERS = (
    "summary",
    "scenes",
    "epistemic",
    "session",
    "long_term",
    "arcs",
    "ledger",
    "profiles",
    "canon",
    "continuity",
)


def defaults(profile: str) -> Settings:
    """The defaults of a hardware profile, "A" or "B"."""
    if profile == "A":
        return DEFAULTS
    return Settings(**{one.name: one.metadata["b"] for one in fields(Settings)})


def resolve(detected: str, documents: Iterable[Mapping[str, Any]]) -> Settings:
    """What holds where ``documents`` apply, the most general first, for a backend of the profile ``detected``.

    ``profile`` of the result is "A" or "B".
    """
    changed: dict[str, Any] = {}
    for document in documents:
        changed |= {name: value for name, value in document.items() if name in NAMES}
    chosen = changed.get("profile", "auto")
    profile = detected if chosen == "auto" else chosen
    return replace(defaults(profile), **changed | {"profile": profile})


NAMES = frozenset(one.name for one in fields(Settings))
_TYPES = get_type_hints(Settings)


def check(document: Mapping[str, Any]) -> None:
    """Raises Invalid where a value of a document can't be used, naming each by its pointer."""
    errors = [
        FieldError(f"/{name}", reason)
        for name, value in document.items()
        if (reason := _wrong(name, value)) is not None
    ]
    if errors:
        raise Invalid(errors[0].detail, errors=errors)


def _wrong(name: str, value: Any) -> str | None:
    if name not in NAMES:
        return "There is no such setting."
    kind, metadata = _TYPES[name], Settings.__dataclass_fields__[name].metadata
    if kind is bool:
        return None if isinstance(value, bool) else "It must be true or false."
    if kind is str:
        return None if value in metadata["choices"] else f"It must be one of {', '.join(metadata['choices'])}."
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        return "It must be a whole number." if kind is int else "It must be a number."
    if not metadata["low"] <= value <= metadata["high"]:
        return f"It must be between {metadata['low']:g} and {metadata['high']:g}."
    return None
