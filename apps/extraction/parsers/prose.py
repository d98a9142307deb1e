"""Prose as a model writes it, without what it writes around it. Pure."""

import re

from apps.extraction.parsers.plain import MARKS, plain, without_html

QUOTES = ('""', "“”", "„“", "«»", "''", "‘’")
_NONE = re.compile(r"[\W_]*none[\W_]*", re.IGNORECASE)
_MANY_LINES = re.compile(r"\n{3,}")
_FENCE = re.compile(r"^(?:> ?)*(?:```|~~~)\w*$", re.MULTILINE)
_QUOTE = re.compile(r"^>[> ]*", re.MULTILINE)
_TAG = re.compile(r"^\[/?[A-Za-z][A-Za-z _-]{0,40}\] ?| ?\[/[A-Za-z][A-Za-z _-]{0,40}\]$", re.MULTILINE)
_LEAD_IN = re.compile(
    r"[*_]{0,2}(?:(?:sure|certainly|of course|okay|ok|absolutely)\b[^\n:.!]{0,60}[.,!:]\s*)?"
    r"(?:here(?:['’]s| is| are)\b[^\n:.]{0,120}:)[*_]{0,2}\s*",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:#{1,6} )?[*_]{0,2}(?:scene |arc |repair |story )?(?:recap|summary|note)[*_]{0,2}"
    r"(?: ?:[*_]{0,2}\s*|\n+)",
    re.IGNORECASE,
)
_SIGN_OFF = re.compile(r"\n(?:let me know|i hope th(?:is|at)|feel free|would you like)\b[^\n]*\Z", re.IGNORECASE)
_LIST_ITEM = re.compile(r"[-*•+]\s|\d{1,3}[.)]\s|#{1,6}\s|[*_]{0,2}[^\W\d_][^.!?:\n]{0,40}:")
_BREAK = re.compile(r"\n\s*\n")


def parse_prose(reply: str, max_chars: int) -> str:
    """The text of a reply, ``max_chars`` long at most, cut after a sentence where it is longer; NONE is no text.

    Code fences, tags, quotes around all of it, and remarks before and after it are left out; paragraphs and lists stay.
    """
    text = "\n".join(" ".join(line.split()) for line in without_html(plain(reply)).split("\n"))
    text = _MANY_LINES.sub("\n\n", _QUOTE.sub("", _FENCE.sub("", text)))
    text = _TAG.sub("", text).strip()
    text = _SIGN_OFF.sub("", f"\n{text}").strip()
    for opening in (_LEAD_IN, _LABEL):
        text = opening.sub("", text, count=1) if opening.match(text) else text
    text = paragraphs(_bare(text))
    return "" if _NONE.fullmatch(text) else cut(text, max_chars)


def paragraphs(text: str) -> str:
    """The text with one line a paragraph or item of a list, and one blank line between paragraphs."""
    return "\n\n".join(filter(None, map(_paragraph, _BREAK.split(text))))


def _paragraph(text: str) -> str:
    lines: list[list[str]] = []
    for line in filter(None, (" ".join(line.split()) for line in text.split("\n"))):
        if lines and not _LIST_ITEM.match(line):
            lines[-1].append(line)
        else:
            lines.append([line])
    return "\n".join(map(" ".join, lines))


def _bare(text: str) -> str:
    """The text without the quotes or marks that stand around all of it."""
    text = text.strip()
    for first, last in (*QUOTES, *((mark, mark) for mark in MARKS)):
        inside = text[len(first) : -len(last)]
        if text.startswith(first) and text.endswith(last) and first not in inside and last not in inside:
            return _bare(inside)
    return text


def cut(text: str, max_chars: int) -> str:
    """At most ``max_chars`` of the text: whole sentences if they are half of it, else whole words."""
    if len(text) <= max_chars:
        return text
    start = text[:max_chars]
    end = max(start.rfind(sign) for sign in (". ", "! ", "? ", ".\n", "。", "！", "？")) + 1
    return start[:end].strip() if end > max_chars / 2 else (start.rpartition(" ")[0] or start).strip()
