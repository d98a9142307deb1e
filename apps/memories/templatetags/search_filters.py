"""Filters for search results."""

from collections.abc import Mapping

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.chats.pages.markup import plain_text

register = template.Library()

MIN_SIMILARITY = 0.25  # lower cosines of all-MiniLM-L6-v2 are noise
MAX_RESULT_LENGTH = 4000  # characters
SIGNAL_LABELS = {"lexical": "shares its words", "subject": "about the person asked for", "graph": "shares names"}


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
    reasons = [f"similar {similarity:.2f}".replace(" 0.", " .")] if similarity >= MIN_SIMILARITY else []
    reasons += [label for name, label in SIGNAL_LABELS.items() if signals.get(name, 0) > 0]
    return " · ".join(reasons)
