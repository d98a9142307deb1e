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
NEAR = 12  # words and spaces that stay on each side of a difference


@register.filter
def removed(before: str, now: str) -> SafeString:
    """Return the earlier text with what is gone from it marked."""
    return _marked(before, now, "del")


@register.filter
def added(now: str, before: str) -> SafeString:
    """Return the later text with what is new in it marked."""
    return _marked(now, before, "ins")


@register.filter
def difference(before: str, now: str) -> SafeString:
    """Return one text with what is gone and what is new marked; of what is the same, the words near that."""
    words, others = WORD.findall(before), WORD.findall(now)
    if len(words) + len(others) > MAX_WORDS:
        return format_html("{}", " ".join(before.split()[:NEAR]) + " …")
    parts = []
    steps = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    for number, (operation, start, end, other_start, other_end) in enumerate(steps):
        if operation == "equal":
            parts.append((_near(words[start:end], is_first=not number, is_last=number == len(steps) - 1),))
            continue
        if gone := "".join(words[start:end]):
            parts.append((format_html("<del>{}</del>", gone),))
        if new := "".join(others[other_start:other_end]):
            parts.append((format_html("<ins>{}</ins>", new),))
    return format_html_join("", "{}", parts)


def _near(words: list[str], *, is_first: bool, is_last: bool) -> str:
    """Return words between two differences, without those that are far from both."""
    before = [] if is_first else words[:NEAR]
    after = [] if is_last else words[-NEAR:]
    if len(words) <= len(before) + len(after):
        return "".join(words)
    return f"{''.join(before).rstrip()} … {''.join(after).lstrip()}".removeprefix("" if before else " ").removesuffix(
        "" if after else " "
    )


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
