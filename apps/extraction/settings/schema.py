"""Every limit, threshold and interval of the memory engine: default, range, label and help. Without database access.

A document holds only the settings that differ from the defaults. A character's document overrides the user's, and a
chat's overrides both. Some defaults depend on the hardware profile: A for small local models and the built-in
extractor, B for large hosted models.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, get_type_hints

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.problems import FieldError, Invalid
from apps.common.words import Words

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Group:
    """Group of settings on the settings pages, folded unless one of its settings was set."""

    title: Words
    about: Words


READING = Group(_("Reading"), _("Which messages are read, and when."))
KEPT = Group(_("What is kept"), _("Each kind can be switched off. Its existing entries stay."))
LIMITS = Group(
    _("Limits"), _("How much always stands in the prompt. Entries beyond a limit are kept, and found when needed.")
)
STORY = Group(_("Scenes, summary and profiles"), _("How the story is divided and summarised."))
MERGING = Group(_("Merging"), _("How many new entries of a kind start a merge of similar ones."))
SIMILARITY = Group(_("Similarity"), _("Minimum for entries that say the same or share a topic. 1 is identical."))
CONFIDENCE = Group(
    _("How sure a memory is"),
    _("From 0 to 1, shown as a bar. Memories that the chat repeats gain; others lose, but are kept."),
)
WINDOWS = Group(_("Windows"), _("How much text a model is given at once."))
GROUPS = (READING, KEPT, LIMITS, STORY, MERGING, SIMILARITY, CONFIDENCE, WINDOWS)


def _setting(default: Any, group: Group, label: Words, help: Words, *, b: Any = None, **limits: Any) -> Any:
    """Declare a setting; ``b`` is its default for profile B, if it differs from profile A's."""
    metadata = {"group": group, "label": label, "help": help, "b": default if b is None else b}
    return field(default=default, metadata=metadata | limits)


def _number(
    default: float, low: float, high: float, group: Group, label: Words, help: Words = "", *, b: Any = None
) -> Any:
    return _setting(default, group, label, help, b=b, low=low, high=high)


@dataclass(frozen=True)
class Settings:
    """Settings that apply to one chat."""

    profile: str = _setting(
        "auto",
        READING,
        _("Size of the model"),
        _("Small models are given fewer messages at a time, and new memories are compared more strictly."),
        choices={
            "auto": _("Detected from the model"),
            "A": _("Small, as on your own machine"),
            "B": _("Large, as of a service"),
        },
    )
    extract_every: int = _number(
        3, 1, 200, READING, _("Read every"), _("New messages after which memories are extracted.")
    )
    reading: str = _setting(
        "auto",
        READING,
        _("Calls of the model"),
        _(
            "One call reads new messages for everything that is kept, or a call for each kind. Small models answer "
            "plain questions about a few messages, and the built-in reader does the rest. What suits a model is what "
            "its suitability test found."
        ),
        choices={
            "auto": _("As suits the model"),
            "one": _("One call"),
            "separate": _("A call for each kind"),
            "small": _("Plain questions about a few messages"),
        },
    )
    chunk: int = _number(
        20, 2, 200, READING, _("Messages at a time"), _("Messages that a model reads in one call."), b=30
    )
    ask_above: int = _number(
        200_000,
        0,
        1_000_000_000,
        READING,
        _("Ask above"),
        _("Tokens to send to a connected model above which you are asked before messages are read."),
    )
    index_messages: bool = _setting(True, READING, _("Index messages"), _("Make the text of messages searchable."))
    dates: bool = _setting(
        True,
        READING,
        _("Dates"),
        _("“Yesterday” in a memory gets its date. Switch it off for stories with a calendar of their own."),
    )
    witnesses_only: bool = _setting(
        True, READING, _("Only what was witnessed"), _("Group members learn only what they saw.")
    )

    session: bool = _setting(True, KEPT, _("Memories of this chat"), _("What only this chat needs."))
    long_term: bool = _setting(True, KEPT, _("Lasting memories"), _("What a character keeps in all chats."))
    scenes: bool = _setting(True, KEPT, _("Scenes"), _("Scenes of the chat, each summarised in a few sentences."))
    arcs: bool = _setting(True, KEPT, _("Story arcs"), _("Open threads of the story."))
    ledger: bool = _setting(True, KEPT, _("State ledger"), _("The current state of characters, objects and places."))
    epistemic: bool = _setting(
        True, KEPT, _("Who knows what"), _("What each character knows, suspects, believes or hides.")
    )
    summary: bool = _setting(
        True, KEPT, _("Summary so far"), _("Summary of the messages that no longer fit the context.")
    )
    profiles: bool = _setting(True, KEPT, _("Profiles"), _("The present state of each character."))
    canon: bool = _setting(
        False,
        KEPT,
        _("Canon"),
        _("The history of a character as told so far, in one text. Rewritten when a thread of the story ends."),
        b=True,
    )
    continuity: bool = _setting(False, KEPT, _("Continuity check"), _("Checks every reply for contradictions."), b=True)
    continuity_repair: bool = _setting(False, KEPT, _("Repair note"), _("A note that resolves a contradiction."))

    new_per_kind: int = _number(
        2, 1, 50, LIMITS, _("New entries of a kind"), _("The most important that a model adds per extraction."), b=4
    )
    long_term_cap: int = _number(
        25, 4, 5000, LIMITS, _("Lasting memories"), _("Of a character; at most a quarter of each kind.")
    )
    session_cap: int = _number(30, 4, 5000, LIMITS, _("Memories of a chat"), _("Those kept for this chat only."))
    arcs_cap: int = _number(10, 1, 500, LIMITS, _("Open arcs"), _("Arcs that a model is shown as open."))

    scene_check: str = _setting(
        "rules",
        STORY,
        _("Ends of scenes"),
        _("How they are found."),
        choices={"rules": _("By rules"), "model": _("By the model")},
        b="model",
    )
    scene_min_messages: int = _number(3, 1, 100, STORY, _("Shortest scene"), _("Minimum number of messages."))
    summary_share: float = _number(0.8, 0.1, 1, STORY, _("Summarise at"), _("Share of the context filled by messages."))
    summary_tokens: int = _number(2000, 200, 8000, STORY, _("Longest summary"), _("Maximum length in tokens."))
    summary_keep: int = _number(
        10, 2, 200, STORY, _("Never summarised"), _("Newest messages that are never summarised.")
    )
    profile_minutes: int = _number(
        30, 1, 100_000, STORY, _("Age of profiles"), _("Minutes after which they are rewritten.")
    )
    model_triggers: bool = _setting(False, STORY, _("Triggers by the model"), _("Words that recall a memory."), b=True)

    consolidate_fact: int = _number(4, 2, 100, MERGING, _("Facts"))
    consolidate_relationship: int = _number(3, 2, 100, MERGING, _("Relationships"))
    consolidate_preference: int = _number(3, 2, 100, MERGING, _("Preferences"))
    consolidate_event: int = _number(4, 2, 100, MERGING, _("Events"))
    consolidate_session: int = _number(3, 2, 100, MERGING, _("Memories of a chat"), _("Of each kind."))

    duplicate: float = _number(0.82, 0.3, 1, SIMILARITY, _("The same, by meaning"), _("Cosine of two vectors."), b=0.85)
    cross_kind_duplicate: float = _number(
        0.88, 0.3, 1, SIMILARITY, _("… of two kinds"), _("Cosine of two vectors."), b=0.91
    )
    same_topic: float = _number(
        0.40, 0.1, 1, SIMILARITY, _("Same topic, by meaning"), _("Cosine of two vectors."), b=0.52
    )
    word_duplicate: float = _number(0.65, 0.2, 1, SIMILARITY, _("The same, by words"), _("Jaccard index."), b=0.68)
    word_cross_kind_duplicate: float = _number(
        0.75, 0.2, 1, SIMILARITY, _("… of two kinds"), _("Jaccard index."), b=0.78
    )
    word_same_topic: float = _number(0.40, 0.1, 1, SIMILARITY, _("Same topic, by words"), _("Jaccard index."), b=0.38)

    confidence: float = _number(0.7, 0, 1, CONFIDENCE, _("Of a new memory"))
    confirmation: float = _number(0.05, 0, 1, CONFIDENCE, _("Gain"), _("Each time a memory is extracted again."))
    decay_after: int = _number(
        10, 1, 1000, CONFIDENCE, _("Decays after"), _("Extractions that don't confirm a memory.")
    )
    decay: float = _number(0.02, 0, 1, CONFIDENCE, _("Loss"), _("For each further extraction without it."))
    decay_floor: float = _number(
        0.3, 0, 1, CONFIDENCE, _("Lowest"), _("Confidence below which a memory does not fall.")
    )

    chunk_share: float = _number(
        0.35, 0.05, 0.9, WINDOWS, _("Share of the context"), _("Maximum share filled by messages.")
    )
    arcs_window: int = _number(
        100, 10, 1000, WINDOWS, _("Window for arcs"), _("Messages in which arcs are looked for.")
    )


# The tiers, each of which has a switch above, in the order in which they run: those that read message by message, and
# those that read a chat as a whole.
READING_TIERS = ["summary", "scenes", "epistemic", "session", "long_term", "arcs", "ledger"]
CLOSING_TIERS = ["profiles", "canon", "continuity"]
DEFAULTS = Settings()
SETTINGS = {setting.name: setting.metadata for setting in fields(Settings)}
TYPES = get_type_hints(Settings)


def tier_names() -> list[str]:
    """Return the names of all tiers, in their order."""
    return [*READING_TIERS, *CLOSING_TIERS]


def defaults(profile: str) -> Settings:
    """Return the defaults of a hardware profile, "A" or "B"."""
    return DEFAULTS if profile == "A" else Settings(**{name: metadata["b"] for name, metadata in SETTINGS.items()})


def resolve(detected: str, documents: Iterable[Mapping[str, Any]]) -> Settings:
    """Return the settings that result from ``documents``, the most general first.

    ``detected`` is the hardware profile of the backend, used unless a document names another; ``profile`` of the
    result is "A" or "B".
    """
    changed: dict[str, Any] = {}
    for document in documents:
        changed |= {name: value for name, value in document.items() if name in SETTINGS}
    chosen = changed.get("profile", "auto")
    profile = detected if chosen == "auto" else chosen
    return replace(defaults(profile), **changed | {"profile": profile})


def validate(document: Mapping[str, Any]) -> None:
    """Raise Invalid, with a pointer to each wrong value, if a document can't be stored."""
    check_values(document, {name: partial(value_error, TYPES[name], metadata) for name, metadata in SETTINGS.items()})


def check_values(document: Mapping[str, Any], checks: Mapping[str, Callable[[Any], str | None]]) -> None:
    """Raise Invalid, with a pointer to each setting that has no check, or of which the check returns an error."""
    reasons = {name: checks.get(name, _unknown)(value) for name, value in document.items()}
    errors = [FieldError(f"/{name}", reason) for name, reason in reasons.items() if reason is not None]
    if errors:
        raise Invalid(errors[0].detail, errors=errors)


def _unknown(value: Any) -> str:
    return gettext("There is no such setting.")


def value_error(kind: type, metadata: Mapping[str, Any], value: Any) -> str | None:
    """Return what is wrong with a value of a setting of type ``kind``, or None."""
    if kind is bool:
        return None if isinstance(value, bool) else gettext("It must be true or false.")
    if kind is str:
        return (
            None
            if value in list(metadata["choices"])
            else gettext("It must be one of %(value)s.") % {"value": ", ".join(metadata["choices"])}
        )
    # A bool is an int in Python.
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        return gettext("It must be a whole number.") if kind is int else gettext("It must be a number.")
    if not metadata["low"] <= value <= metadata["high"]:
        return gettext("It must be between %(low)s and %(high)s.") % {
            "low": in_digits(metadata["low"]),
            "high": in_digits(metadata["high"]),
        }
    return None


def in_digits(value: float) -> str:
    """Return a value or a limit of a setting without an exponent: a million as "1000000"."""
    return f"{value:.15g}"
