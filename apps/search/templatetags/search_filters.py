"""Filters for search results."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.chats.pages.markup import plain_text
from apps.memories.journal.bullets import parse_bullets
from apps.search.reasons import describe_signals

register = template.Library()
register.filter(describe_signals)

MAX_RESULT_LENGTH = 4000  # characters


@register.filter
def without_bullets(text: str) -> str:
    """Return a text of the journal without the markers of its bullets, and without the tags that name their chats."""
    return " ".join(bullet.text for bullet in parse_bullets(text))


@register.filter
def mark_sentence(text: str, sentence: str) -> SafeString | str:
    """Return the text without markup, with the matching sentence marked."""
    text, sentence = plain_text(text, MAX_RESULT_LENGTH), plain_text(sentence, MAX_RESULT_LENGTH)
    before, match, after = text.partition(sentence) if sentence else (text, "", "")
    return format_html("{}<mark>{}</mark>{}", before, match, after) if match and (before or after) else text
