"""Filters that mark what differs between two versions of a text, word by word."""

import re
from difflib import SequenceMatcher
from functools import partial

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

WORD = re.compile(r"\s+|\w+|[^\w\s]")
MAX_WORDS = 4000  # of both texts; comparing more would keep the page waiting


@register.filter
def removed(before: str, now: str) -> SafeString:
    """Return the earlier text with what is gone from it marked."""
    return _marked(before, now, "del")


@register.filter
def added(now: str, before: str) -> SafeString:
    """Return the later text with what is new in it marked."""
    return _marked(now, before, "ins")


def _marked(text: str, other: str, tag: str) -> SafeString:
    """Return the text with what the other one doesn't have in elements, or plain if there is no other or too much."""
    words, others = WORD.findall(text), WORD.findall(other)
    if not others or len(words) + len(others) > MAX_WORDS:
        return format_html("{}", text)
    mark = partial(format_html, f"<{tag}>{{}}</{tag}>")
    parts = []
    for operation, start, end, _, _ in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        piece = "".join(words[start:end])
        parts.append((piece if operation == "equal" else mark(piece) if piece else "",))
    return format_html_join("", "{}", parts)
