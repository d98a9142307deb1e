"""Parse a canon: paragraphs that begin with the labels that the prompt asks for. Without database access."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from apps.extraction.parsers.free_text import parse_free_text, truncate
from apps.extraction.parsers.text_cleanup import clean_reply, is_none, strip_fences, strip_html

LABELS = ("Who", "What happened", "Where things stand")
_LABEL = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+|[-*•][ \t]+|\d[.)][ \t]+)?[*_]{0,3}"
    rf"(?P<label>{'|'.join(LABELS)})"
    r"[*_]{0,3}[ \t]*(?:[:：][*_]{0,3}|$)",
    re.IGNORECASE | re.MULTILINE,
)


def labels_in(template: str) -> list[str]:
    """Return the labels that a prompt asks for: one that a user wrote may ask for another form."""
    written = {match["label"].casefold() for match in _LABEL.finditer(template)}
    return [label for label in LABELS if label.casefold() in written]


def parse_canon(reply: str, labels: Sequence[str], max_chars: int) -> str:
    """Return the labelled paragraphs of a reply, each label's first one; "" if there are none.

    Without ``labels`` the whole text is returned.
    """
    if not labels:
        return parse_free_text(reply, max_chars)
    text = strip_fences(strip_html(clean_reply(reply)))
    paragraphs: dict[str, str] = {}
    matches = list(_LABEL.finditer(text))
    for match, following in zip_longest(matches, matches[1:]):
        section = text[match.end() : following.start() if following else None]
        paragraph = parse_free_text(section, max_chars).partition("\n\n")[0]
        if paragraph:
            paragraphs.setdefault(match["label"].casefold(), paragraph)
    written = [f"{label}: {paragraphs[label.casefold()]}" for label in LABELS if label.casefold() in paragraphs]
    return truncate("\n\n".join(written), max_chars)


def is_canon(reply: str, labels: Sequence[str]) -> bool:
    """Return whether a reply has a paragraph with one of the labels, or says that there is nothing to tell."""
    return is_none(reply) or bool(parse_canon(reply, labels, len(reply)))
