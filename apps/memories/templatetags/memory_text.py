"""Filters for search results."""

from collections.abc import Mapping

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.chats.pages.markup import plain_text

register = template.Library()

SIMILAR = 0.25  # lower cosines of all-MiniLM-L6-v2 are noise
MAX_RESULT_LENGTH = 4000  # characters of a result
WORDS = {"lexical": "shares its words", "speaker": "said by whom you ask about", "graph": "names the same"}


@register.filter
def mark_sentence(text: str, sentence: str) -> SafeString | str:
    """Return the text without markup, with the matching sentence marked."""
    text, sentence = plain_text(text, MAX_RESULT_LENGTH), plain_text(sentence, MAX_RESULT_LENGTH)
    before, found, after = text.partition(sentence) if sentence else (text, "", "")
    return format_html("{}<mark>{}</mark>{}", before, found, after) if found and (before or after) else text


@register.filter
def in_words(signals: Mapping[str, float]) -> str:
    """Return the main signals of a result in words: "similar .71 · shares its words"."""
    reasons = [f"similar {signals['vector']:.2f}".replace(" 0.", " .")] if signals.get("vector", 0) >= SIMILAR else []
    reasons += [words for name, words in WORDS.items() if signals.get(name, 0) > 0]
    return " · ".join(reasons)
