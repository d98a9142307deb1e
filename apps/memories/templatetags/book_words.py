"""What stands in the tables of memories, in plain words."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.safestring import SafeString

from apps.chats.pages.markup import plain_text, render_text

register = template.Library()

QUOTED = 400  # characters of a message

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
# What a run counts: how one of it is called, and several.
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
    """Why something is retired."""
    name = reason.partition(":")[0]
    return REASONS.get(name, name.replace("_", " "))


@register.filter
def stage_in_words(stage: str) -> str:
    """What a stage of a run works at."""
    return STAGES.get(stage, stage.replace("_", " "))


@register.filter
def counts_in_words(counts: Mapping[str, int], of: str = "all") -> str:
    """What a run or a step came to: "12 new, 3 replaced older ones"; ``of`` "memories" tells of these alone."""
    names = MEMORIES if of == "memories" else dict.fromkeys([*COUNTS, *counts])
    found = [(counts[name], COUNTS.get(name, (name, name))) for name in names if counts.get(name)]
    return ", ".join(f"{number} {one if number == 1 else several}" for number, (one, several) in found)


@register.filter
def took(run: Any) -> str:
    """How long a run that has ended took: "14 s", "3 min 20 s"."""
    seconds = round((run.finished_at - run.started_at).total_seconds())
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@register.filter
def as_prose(text: str) -> SafeString:
    """A text that a model or a person wrote, with its lists and paragraphs."""
    return render_text(text)


@register.filter
def beginning(text: str) -> str:
    """The beginning of a message, in one line without markup."""
    return plain_text(text, QUOTED)


@register.simple_tag
def at_index(message: Any, chat: Any) -> str:
    """How a message is referred to: by its index, and its chat where that is another."""
    return f"#{message.index}" if chat and message.chat_id == chat.pk else f"#{message.index} in {message.chat.title}"
