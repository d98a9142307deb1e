"""Filters that format memories and runs for reading."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from apps.chats.pages.markup import plain_text, render_text
from apps.memories import labels
from apps.memories.models import Entity

register = template.Library()
register.filter("as_prose", render_text)
register.filter("confidence_label", labels.confidence_label)
register.simple_tag(labels.legend, name="legend")

QUOTE_LENGTH = 400  # characters of a message

RETIRED_REASON_LABELS = {
    "merged": _("merged with others"),
    "split": _("split into several"),
    "undone": _("undone by you"),
    "source_changed": _("the text it came from was changed"),
    "source_gone": _("the text it came from was deleted"),
    "fresh_start": _("set aside by a fresh start"),
    "outdated": _("no longer true"),
    "by_hand": _("removed by you"),
}
STAGE_LABELS = {
    "epistemic": _("who knows what"),
    "long_term": _("lasting memories"),
    "session": _("memories of this chat"),
    "session_consolidation": _("merging memories of this chat"),
    "long_term_consolidation": _("merging lasting memories"),
    "relationships": _("relationships"),
    "profiles": _("profiles"),
    "summary": _("summary"),
    "scenes": _("scenes"),
    "arcs": _("arcs"),
    "ledger": _("ledger"),
    "canon": _("canon"),
    "continuity": _("continuity"),
    "repair": _("repair"),
    "reading": _("reading"),
    "review": _("review"),
    "triggers": _("triggers"),
}
# Each count of a run, in words.
COUNTS = {
    "passed": ngettext_lazy("%(count)s new", "%(count)s new", "count"),
    "superseded": ngettext_lazy("%(count)s replaced an older one", "%(count)s replaced older ones", "count"),
    "reconfirmed": ngettext_lazy("%(count)s repeated", "%(count)s repeated", "count"),
    "merged": ngettext_lazy("%(count)s merged", "%(count)s merged", "count"),
    "rejected": ngettext_lazy("%(count)s known or not worth keeping", "%(count)s known or not worth keeping", "count"),
    "scenes": ngettext_lazy("%(count)s scene", "%(count)s scenes", "count"),
    "arcs": ngettext_lazy("%(count)s thread opened", "%(count)s threads opened", "count"),
    "resolved": ngettext_lazy("%(count)s thread resolved", "%(count)s threads resolved", "count"),
    "ledger": ngettext_lazy("%(count)s change of the ledger", "%(count)s changes of the ledger", "count"),
    "knowledge": ngettext_lazy("%(count)s change of who knows what", "%(count)s changes of who knows what", "count"),
    "relationships": ngettext_lazy("%(count)s change of relationships", "%(count)s changes of relationships", "count"),
    "summary": ngettext_lazy("%(count)s summary", "%(count)s summaries", "count"),
    "profiles": ngettext_lazy("%(count)s profile", "%(count)s profiles", "count"),
    "canon": ngettext_lazy("%(count)s canon", "%(count)s canons", "count"),
    "contradictions": ngettext_lazy("%(count)s contradiction", "%(count)s contradictions", "count"),
}
APART = {"unused", "doubted", "backed_off"}  # counts that have a place of their own on pages
MEMORY_COUNTS = ("passed", "superseded", "reconfirmed", "merged")


@register.filter
def explanation(name: str) -> str:
    """Return what a tier, a kind or a mark of a memory means."""
    return str(labels.EXPLANATIONS[name])


@register.filter
def entity_kind(kind: str) -> str:
    """Return the label of a kind of entity."""
    return str(Entity.Kind(kind).label)


@register.filter
def reason_label(reason: str) -> str:
    """Return the label of a RetiredReason."""
    return str(RETIRED_REASON_LABELS[reason])


@register.filter
def stage_label(stage: str) -> str:
    """Return the label of a stage of a run."""
    return str(STAGE_LABELS.get(stage) or stage.replace("_", " "))


@register.filter
def describe_counts(counts: Mapping[str, int], of: str = "all") -> str:
    """Describe the counts of a run or a step: "12 new, 3 replaced older ones".

    ``of`` is "all" or "memories", which excludes the counts of other layers.
    """
    names = MEMORY_COUNTS if of == "memories" else dict.fromkeys([*COUNTS, *counts.keys() - APART])
    return ", ".join(_count_in_words(name, counts[name]) for name in names if counts.get(name))


def _count_in_words(name: str, count: int) -> str:
    return str(COUNTS[name] % {"count": count}) if name in COUNTS else f"{count} {name}"


@register.filter
def duration(run: Any) -> str:
    """Return the duration of a finished run: "14 s", "3 min 20 s"."""
    seconds = round((run.finished_at - run.started_at).total_seconds())
    minutes, rest = divmod(seconds, 60)
    return gettext("%(minutes)s min %(rest)s s") % {"minutes": minutes, "rest": rest} if minutes else f"{rest} s"


@register.filter
def message_excerpt(text: str) -> str:
    """Return the first QUOTE_LENGTH characters of a message, in one line without markup."""
    return plain_text(text, QUOTE_LENGTH)


@register.simple_tag
def message_reference(message: Any, chat: Any) -> str:
    """Return a reference to a message: its index, and its chat's title if that isn't ``chat``."""
    if chat and message.chat_id == chat.pk:
        return f"#{message.index}"
    return gettext("#%(index)s in %(title)s") % {"index": message.index, "title": message.chat.title}
