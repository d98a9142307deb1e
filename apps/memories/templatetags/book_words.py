"""What stands in the tables of memories, in plain words."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.safestring import SafeString

from apps.chats.markup import render_text

register = template.Library()

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
COUNTS = {
    "passed": "new",
    "superseded": "replaced older ones",
    "reconfirmed": "said again",
    "merged": "merged",
    "rejected": "not worth keeping or known",
    "scenes": "scenes",
    "arcs": "threads opened",
    "resolved": "threads resolved",
    "ledger": "changes of the ledger",
    "knowledge": "changes of who knows what",
    "relationships": "changes of relationships",
    "summary": "summaries",
    "profiles": "profiles",
    "canon": "canon",
    "contradictions": "contradictions",
}


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
def counts_in_words(counts: Mapping[str, int]) -> str:
    """What a run or a step came to: "12 new, 3 replaced older ones"."""
    known = [f"{counts[name]} {words}" for name, words in COUNTS.items() if counts.get(name)]
    others = [f"{number} {name}" for name, number in counts.items() if number and name not in COUNTS]
    return ", ".join(known + others)


@register.filter
def as_prose(text: str) -> SafeString:
    """A text that a model or a person wrote, with its lists and paragraphs."""
    return render_text(text)


@register.simple_tag
def at_index(message: Any, chat: Any) -> str:
    """How a message is referred to: by its index, and its chat where that is another."""
    return f"#{message.index}" if chat and message.chat_id == chat.pk else f"#{message.index} in {message.chat.title}"
