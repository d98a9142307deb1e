"""Filters for search results."""

from collections.abc import Mapping

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.pages.markup import plain_text

register = template.Library()

MIN_SIMILARITY = 0.25  # lower cosines of all-MiniLM-L6-v2 are noise
MAX_RESULT_LENGTH = 4000  # characters
SIGNAL_LABELS = {
    "lexical": _("shares its words"),
    "subject": _("about the person asked for"),
    "graph": _("shares names"),
}


@register.filter
def mark_sentence(text: str, sentence: str) -> SafeString | str:
    """Return the text without markup, with the matching sentence marked."""
    text, sentence = plain_text(text, MAX_RESULT_LENGTH), plain_text(sentence, MAX_RESULT_LENGTH)
    before, match, after = text.partition(sentence) if sentence else (text, "", "")
    return format_html("{}<mark>{}</mark>{}", before, match, after) if match and (before or after) else text


@register.filter
def describe_signals(signals: Mapping[str, float]) -> str:
    """Describe the main signals of a result: "similar .71 · shares its words"."""
    similarity = signals.get("vector", 0)
    likeness = f"{similarity:.2f}".removeprefix("0")
    reasons = [gettext("similar %(likeness)s") % {"likeness": likeness}] if similarity >= MIN_SIMILARITY else []
    reasons += [str(label) for name, label in SIGNAL_LABELS.items() if signals.get(name, 0) > 0]
    return " · ".join(reasons)
