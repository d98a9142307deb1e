"""The memory settings as people see them: in groups, each by a name, with what holds and where that comes from.

Pure. Limits, help and defaults stand with the settings themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from apps.extraction.settings.schema import Settings, defaults, resolve

KINDS = get_type_hints(Settings)
CHOICES: Mapping[str, Mapping[str, str]] = {
    "profile": {"auto": "By the model", "A": "A: small, local models", "B": "B: large, hosted models"},
    "scene_check": {"rules": "By rules", "model": "By asking the model"},
}


@dataclass(frozen=True)
class Group:
    """``labels`` names each setting of the group; one that ``is_advanced`` is folded away."""

    title: str
    about: str
    labels: Mapping[str, str]
    is_advanced: bool = False


GROUPS = (
    Group(
        "Reading",
        "What is read, and when.",
        {
            "profile": "Hardware profile",
            "extract_every": "Read every",
            "chunk": "Messages at a time",
            "index_messages": "Index what was said",
            "witnesses_only": "Only what was witnessed",
        },
    ),
    Group(
        "What is kept",
        "Each part can be switched off. What it kept before stays.",
        {
            "session": "Session memories",
            "long_term": "Long-term memories",
            "scenes": "Scenes",
            "arcs": "Story arcs",
            "ledger": "State ledger",
            "epistemic": "Who knows what",
            "summary": "Summary so far",
            "profiles": "Profiles",
            "canon": "Canon",
            "continuity": "Continuity check",
            "continuity_repair": "Repair note",
        },
    ),
    Group(
        "How much",
        "What goes beyond is set aside, the least useful first, and never deleted.",
        {
            "new_per_kind": "New entries of a kind",
            "long_term_cap": "Long-term memories",
            "session_cap": "Session memories",
            "arcs_cap": "Open arcs",
        },
    ),
    Group(
        "Scenes, summary and profiles",
        "How the story is divided and retold.",
        {
            "scene_check": "Ends of scenes",
            "scene_min_messages": "Shortest scene",
            "summary_share": "Summarise at",
            "summary_tokens": "Longest summary",
            "summary_keep": "Never summarised",
            "profile_minutes": "Age of profiles",
            "model_triggers": "Triggers by the model",
        },
        is_advanced=True,
    ),
    Group(
        "Merging",
        "After so many new entries of a kind, those that say the same become one.",
        {
            "consolidate_fact": "Facts",
            "consolidate_relationship": "Relationships",
            "consolidate_preference": "Preferences",
            "consolidate_event": "Events",
            "consolidate_session": "Session memories",
        },
        is_advanced=True,
    ),
    Group(
        "Likeness",
        "From which likeness on two entries say the same, or speak of the same. 1 is identical.",
        {
            "duplicate": "The same, by meaning",
            "cross_kind_duplicate": "… of two kinds",
            "same_topic": "Same subject, by meaning",
            "word_duplicate": "The same, by words",
            "word_cross_kind_duplicate": "… of two kinds",
            "word_same_topic": "Same subject, by words",
        },
        is_advanced=True,
    ),
    Group(
        "Confidence",
        "A memory that is confirmed grows surer; one that never is again fades, and is retired in the end.",
        {
            "confidence": "Of a new memory",
            "confirmation": "Gained each time",
            "decay_after": "Fades after",
            "decay": "Lost each pass",
            "decay_floor": "Retired at",
        },
        is_advanced=True,
    ),
    Group(
        "Windows",
        "How much text a model is given at once.",
        {"chunk_share": "Share of the context", "arcs_window": "Window for arcs"},
        is_advanced=True,
    ),
)


@dataclass(frozen=True)
class Place:
    """Somewhere that settings are set: what was set there, and what a setting from there is called."""

    name: str
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Holding:
    """What holds for one setting: its value, from where, and what would hold if it weren't set in the last place."""

    value: Any
    origin: str
    is_own: bool
    inherited: Any


def holdings(detected: str, places: Sequence[Place]) -> dict[str, Holding]:
    """What holds for each setting in the last of the places, for a backend of the profile ``detected``."""
    documents = [place.document for place in places]
    effective = resolve(detected, documents)
    default = defaults(effective.profile)
    found = {}
    for name in KINDS:
        origins = [place.name for place in places if name in place.document]
        above = [place.document[name] for place in places[:-1] if name in place.document]
        fallback = "auto" if name == "profile" else getattr(default, name)
        inherited = above[-1] if above else fallback
        is_own = name in places[-1].document
        found[name] = Holding(
            value=places[-1].document[name] if is_own else inherited,
            origin=origins[-1] if origins else _default_of(name, effective.profile),
            is_own=is_own,
            inherited=inherited,
        )
    return found


def _default_of(name: str, profile: str) -> str:
    """Which default holds: that of the profile, where the two differ."""
    differ = getattr(defaults("A"), name) != getattr(defaults("B"), name)
    return f"default of {profile}" if differ else "default"


def in_words(name: str, value: Any) -> str:
    """A value as people read it: On, Off, a choice's name, a number."""
    if isinstance(value, bool):
        return "On" if value else "Off"
    if name in CHOICES:
        return CHOICES[name][value]
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
