"""Every limit, threshold and interval of the memory engine: default, range, label and help. Without database access.

A document holds only the settings that differ from the defaults. A character's document overrides the user's, and a
chat's overrides both. Some defaults depend on the hardware profile: A for small local models and the built-in
extractor, B for large hosted models.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.common.settings.declarations import Group, Schema, declared, setting

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


@dataclass(frozen=True)
class Settings:
    """Settings that apply to one chat."""

    profile: str = setting(
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
    extract_every: int = setting(
        3, READING, _("Read every"), _("New messages after which memories are extracted."), low=1, high=200
    )
    reading: str = setting(
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
    chunk: int = setting(
        20, READING, _("Messages at a time"), _("Messages that a model reads in one call."), low=2, high=200, large=30
    )
    ask_above: int = setting(
        200_000,
        READING,
        _("Ask above"),
        _("Tokens to send to a connected model above which you are asked before messages are read."),
        low=0,
        high=1_000_000_000,
    )
    index_messages: bool = setting(True, READING, _("Index messages"), _("Make the text of messages searchable."))
    dates: bool = setting(
        True,
        READING,
        _("Dates"),
        _("“Yesterday” in a memory gets its date. Switch it off for stories with a calendar of their own."),
    )
    witnesses_only: bool = setting(
        True, READING, _("Only what was witnessed"), _("Group members learn only what they saw.")
    )

    session: bool = setting(True, KEPT, _("Memories of this chat"), _("What only this chat needs."))
    long_term: bool = setting(True, KEPT, _("Lasting memories"), _("What a character keeps in all chats."))
    scenes: bool = setting(True, KEPT, _("Scenes"), _("Scenes of the chat, each summarised in a few sentences."))
    arcs: bool = setting(True, KEPT, _("Story arcs"), _("Open threads of the story."))
    ledger: bool = setting(True, KEPT, _("State ledger"), _("The current state of characters, objects and places."))
    epistemic: bool = setting(
        True, KEPT, _("Who knows what"), _("What each character knows, suspects, believes or hides.")
    )
    summary: bool = setting(
        True, KEPT, _("Summary so far"), _("Summary of the messages that no longer fit the context.")
    )
    profiles: bool = setting(True, KEPT, _("Profiles"), _("The present state of each character."))
    canon: bool = setting(
        False,
        KEPT,
        _("Canon"),
        _("The history of a character as told so far, in one text. Rewritten when a thread of the story ends."),
        large=True,
    )
    continuity: bool = setting(
        False, KEPT, _("Continuity check"), _("Checks every reply for contradictions."), large=True
    )
    continuity_repair: bool = setting(False, KEPT, _("Repair note"), _("A note that resolves a contradiction."))

    new_per_kind: int = setting(
        2,
        LIMITS,
        _("New entries of a kind"),
        _("The most important that a model adds per extraction."),
        low=1,
        high=50,
        large=4,
    )
    long_term_cap: int = setting(
        25, LIMITS, _("Lasting memories"), _("Of a character; at most a quarter of each kind."), low=4, high=5000
    )
    session_cap: int = setting(
        30, LIMITS, _("Memories of a chat"), _("Those kept for this chat only."), low=4, high=5000
    )
    arcs_cap: int = setting(10, LIMITS, _("Open arcs"), _("Arcs that a model is shown as open."), low=1, high=500)

    scene_check: str = setting(
        "rules",
        STORY,
        _("Ends of scenes"),
        _("How they are found."),
        choices={"rules": _("By rules"), "model": _("By the model")},
        large="model",
    )
    scene_min_messages: int = setting(3, STORY, _("Shortest scene"), _("Minimum number of messages."), low=1, high=100)
    summary_share: float = setting(
        0.8, STORY, _("Summarise at"), _("Share of the context filled by messages."), low=0.1, high=1
    )
    summary_tokens: int = setting(2000, STORY, _("Longest summary"), _("Maximum length in tokens."), low=200, high=8000)
    summary_keep: int = setting(
        10, STORY, _("Never summarised"), _("Newest messages that are never summarised."), low=2, high=200
    )
    profile_minutes: int = setting(
        30, STORY, _("Age of profiles"), _("Minutes after which they are rewritten."), low=1, high=100_000
    )
    model_triggers: bool = setting(
        False, STORY, _("Triggers by the model"), _("Words that recall a memory."), large=True
    )

    consolidate_fact: int = setting(4, MERGING, _("Facts"), low=2, high=100)
    consolidate_relationship: int = setting(3, MERGING, _("Relationships"), low=2, high=100)
    consolidate_preference: int = setting(3, MERGING, _("Preferences"), low=2, high=100)
    consolidate_event: int = setting(4, MERGING, _("Events"), low=2, high=100)
    consolidate_session: int = setting(3, MERGING, _("Memories of a chat"), _("Of each kind."), low=2, high=100)

    duplicate: float = setting(
        0.82, SIMILARITY, _("The same, by meaning"), _("Cosine of two vectors."), low=0.3, high=1, large=0.85
    )
    cross_kind_duplicate: float = setting(
        0.88, SIMILARITY, _("… of two kinds"), _("Cosine of two vectors."), low=0.3, high=1, large=0.91
    )
    same_topic: float = setting(
        0.40, SIMILARITY, _("Same topic, by meaning"), _("Cosine of two vectors."), low=0.1, high=1, large=0.52
    )
    word_duplicate: float = setting(
        0.65, SIMILARITY, _("The same, by words"), _("Jaccard index."), low=0.2, high=1, large=0.68
    )
    word_cross_kind_duplicate: float = setting(
        0.75, SIMILARITY, _("… of two kinds"), _("Jaccard index."), low=0.2, high=1, large=0.78
    )
    word_same_topic: float = setting(
        0.40, SIMILARITY, _("Same topic, by words"), _("Jaccard index."), low=0.1, high=1, large=0.38
    )

    confidence: float = setting(0.7, CONFIDENCE, _("Of a new memory"), low=0, high=1)
    confirmation: float = setting(
        0.05, CONFIDENCE, _("Gain"), _("Each time a memory is extracted again."), low=0, high=1
    )
    decay_after: int = setting(
        10, CONFIDENCE, _("Decays after"), _("Extractions that don't confirm a memory."), low=1, high=1000
    )
    decay: float = setting(0.02, CONFIDENCE, _("Loss"), _("For each further extraction without it."), low=0, high=1)
    decay_floor: float = setting(
        0.3, CONFIDENCE, _("Lowest"), _("Confidence below which a memory does not fall."), low=0, high=1
    )

    chunk_share: float = setting(
        0.35, WINDOWS, _("Share of the context"), _("Maximum share filled by messages."), low=0.05, high=0.9
    )
    arcs_window: int = setting(
        100, WINDOWS, _("Window for arcs"), _("Messages in which arcs are looked for."), low=10, high=1000
    )


TIERS = ("summary", "scenes", "epistemic", "session", "long_term", "arcs", "ledger", "profiles", "canon", "continuity")
SETTINGS = Schema(declared(Settings))
DEFAULTS = Settings()
validate = SETTINGS.validate


def defaults(profile: str) -> Settings:
    """Return the defaults of a hardware profile, "A" or "B"."""
    return Settings(**SETTINGS.defaults(profile))


def resolve(detected: str, documents: Iterable[Mapping[str, Any]]) -> Settings:
    """Return the settings that result from ``documents``, the most general first.

    ``detected`` is the hardware profile of the backend, used unless a document names another; ``profile`` of the
    result is "A" or "B".
    """
    changed = SETTINGS.merged(documents)
    chosen = changed.get("profile", "auto")
    profile = detected if chosen == "auto" else chosen
    return Settings(**SETTINGS.defaults(profile) | changed | {"profile": profile})
