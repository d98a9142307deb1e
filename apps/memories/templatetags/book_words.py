"""Filters that put stored values of memories and runs into words."""

from collections.abc import Mapping
from typing import Any

from django import template

from apps.chats.pages.markup import plain_text, render_text

register = template.Library()
register.filter("as_prose", render_text)

QUOTE_LENGTH = 400  # characters of a message

REASONS = {
    "capacity": "made room for others",
    "decayed": "not said again for long",
    "merged": "merged with others",
    "split": "split into several",
    "undone": "taken back by you",
    "source_changed": "the text it came from was changed",
    "source_gone": "the text it came from was deleted",
    "fresh_start": "set aside by a fresh start",
    "outdated": "no longer so",
    "by_hand": "taken out by you",
}
STAGES = {
    "epistemic": "who knows what",
    "long_term": "long-term memories",
    "session": "session memories",
    "session_consolidation": "merging session memories",
    "long_term_consolidation": "merging long-term memories",
}
# Singular and plural for each count of a run.
COUNTS = {
    "passed": ("new", "new"),
    "superseded": ("replaced an older one", "replaced older ones"),
    "reconfirmed": ("said again", "said again"),
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
MEMORIES = ("passed", "superseded", "reconfirmed", "merged")


@register.filter
def reason_in_words(reason: str) -> str:
    """Return the words for a RetiredReason."""
    return REASONS[reason]


@register.filter
def stage_in_words(stage: str) -> str:
    """Return the words for a stage of a run."""
    return STAGES.get(stage, stage.replace("_", " "))


@register.filter
def counts_in_words(counts: Mapping[str, int], of: str = "all") -> str:
    """Return the counts of a run or a step in words: "12 new, 3 replaced older ones".

    ``of`` is "all" or "memories", which leaves out the counts of other layers.
    """
    names = MEMORIES if of == "memories" else dict.fromkeys([*COUNTS, *counts])
    found = [(counts[name], COUNTS.get(name, (name, name))) for name in names if counts.get(name)]
    return ", ".join(f"{number} {one if number == 1 else several}" for number, (one, several) in found)


@register.filter
def took(run: Any) -> str:
    """Return the duration of a finished run: "14 s", "3 min 20 s"."""
    seconds = round((run.finished_at - run.started_at).total_seconds())
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@register.filter
def beginning(text: str) -> str:
    """Return the first QUOTE_LENGTH characters of a message, in one line without markup."""
    return plain_text(text, QUOTE_LENGTH)


@register.simple_tag
def at_index(message: Any, chat: Any) -> str:
    """Return a reference to a message: its index, and its chat's title if that isn't ``chat``."""
    return f"#{message.index}" if chat and message.chat_id == chat.pk else f"#{message.index} in {message.chat.title}"
