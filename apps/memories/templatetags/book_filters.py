"""Filters that format memories and runs for reading."""

from collections.abc import Mapping
from typing import Any

from django import template

from apps.chats.pages.markup import plain_text, render_text
from apps.memories import labels

register = template.Library()
register.filter("as_prose", render_text)
register.filter("confidence_label", labels.confidence_label)
register.simple_tag(labels.legend, name="legend")

QUOTE_LENGTH = 400  # characters of a message

RETIRED_REASON_LABELS = {
    "merged": "merged with others",
    "split": "split into several",
    "undone": "undone by you",
    "source_changed": "the text it came from was changed",
    "source_gone": "the text it came from was deleted",
    "fresh_start": "set aside by a fresh start",
    "outdated": "no longer true",
    "by_hand": "removed by you",
}
STAGE_LABELS = {
    "epistemic": "who knows what",
    "long_term": "lasting memories",
    "session": "memories of this chat",
    "session_consolidation": "merging memories of this chat",
    "long_term_consolidation": "merging lasting memories",
}
# Singular and plural label of each count of a run.
COUNT_LABELS = {
    "passed": ("new", "new"),
    "superseded": ("replaced an older one", "replaced older ones"),
    "reconfirmed": ("repeated", "repeated"),
    "merged": ("merged", "merged"),
    "rejected": ("known or not worth keeping", "known or not worth keeping"),
    "scenes": ("scene", "scenes"),
    "arcs": ("thread opened", "threads opened"),
    "resolved": ("thread resolved", "threads resolved"),
    "ledger": ("change of the ledger", "changes of the ledger"),
    "knowledge": ("change of who knows what", "changes of who knows what"),
    "relationships": ("change of relationships", "changes of relationships"),
    "summary": ("summary", "summaries"),
    "profiles": ("profile", "profiles"),
    "canon": ("canon", "canons"),
    "contradictions": ("contradiction", "contradictions"),
}
MEMORY_COUNTS = ("passed", "superseded", "reconfirmed", "merged")


@register.filter
def explanation(name: str) -> str:
    """Return what a tier, a kind or a mark of a memory means."""
    return labels.EXPLANATIONS[name]


@register.filter
def reason_label(reason: str) -> str:
    """Return the label of a RetiredReason."""
    return RETIRED_REASON_LABELS[reason]


@register.filter
def stage_label(stage: str) -> str:
    """Return the label of a stage of a run."""
    return STAGE_LABELS.get(stage, stage.replace("_", " "))


@register.filter
def describe_counts(counts: Mapping[str, int], of: str = "all") -> str:
    """Describe the counts of a run or a step: "12 new, 3 replaced older ones".

    ``of`` is "all" or "memories", which excludes the counts of other layers.
    """
    names = MEMORY_COUNTS if of == "memories" else dict.fromkeys([*COUNT_LABELS, *counts])
    labelled = [(counts[name], COUNT_LABELS.get(name, (name, name))) for name in names if counts.get(name)]
    return ", ".join(f"{number} {singular if number == 1 else plural}" for number, (singular, plural) in labelled)


@register.filter
def duration(run: Any) -> str:
    """Return the duration of a finished run: "14 s", "3 min 20 s"."""
    seconds = round((run.finished_at - run.started_at).total_seconds())
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@register.filter
def message_excerpt(text: str) -> str:
    """Return the first QUOTE_LENGTH characters of a message, in one line without markup."""
    return plain_text(text, QUOTE_LENGTH)


@register.simple_tag
def message_reference(message: Any, chat: Any) -> str:
    """Return a reference to a message: its index, and its chat's title if that isn't ``chat``."""
    return f"#{message.index}" if chat and message.chat_id == chat.pk else f"#{message.index} in {message.chat.title}"
