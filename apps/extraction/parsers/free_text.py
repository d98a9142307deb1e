"""Parse replies in free text, such as recaps. Without database access."""

import re

from apps.extraction.parsers.text_cleanup import MARKS, clean_reply, is_none, strip_fences, strip_html

QUOTES = ('""', "“”", "„“", "«»", "''", "‘’")
_MANY_LINES = re.compile(r"\n{3,}")
_QUOTE_MARK = re.compile(r"^>[> ]*", re.MULTILINE)
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
_PARAGRAPH_BREAK = re.compile(r"\n\s*\n")


def parse_free_text(reply: str, max_chars: int) -> str:
    """Return the text of a reply, cut to ``max_chars``; "" if it says NONE.

    Code fences, tags, surrounding quotes and remarks before and after the text are removed; paragraphs and lists stay.
    """
    text = "\n".join(" ".join(line.split()) for line in strip_html(clean_reply(reply)).split("\n"))
    text = _MANY_LINES.sub("\n\n", _QUOTE_MARK.sub("", strip_fences(text)))
    text = _TAG.sub("", text).strip()
    text = _SIGN_OFF.sub("", f"\n{text}").strip()
    for pattern in (_LEAD_IN, _LABEL):
        text = pattern.sub("", text, count=1) if pattern.match(text) else text
    text = unwrap_paragraphs(_strip_quotes(text))
    return "" if is_none(text) else truncate(text, max_chars)


def unwrap_paragraphs(text: str) -> str:
    """Put each paragraph and each item of a list on one line, with one blank line between paragraphs."""
    return "\n\n".join(filter(None, map(_unwrap_paragraph, _PARAGRAPH_BREAK.split(text))))


def _unwrap_paragraph(text: str) -> str:
    lines: list[list[str]] = []
    for line in filter(None, (" ".join(line.split()) for line in text.split("\n"))):
        if lines and not _LIST_ITEM.match(line):
            lines[-1].append(line)
        else:
            lines.append([line])
    return "\n".join(map(" ".join, lines))


def _strip_quotes(text: str) -> str:
    """Remove quotes and marks that surround the whole text."""
    text = text.strip()
    for first, last in (*QUOTES, *((mark, mark) for mark in MARKS)):
        inner = text[len(first) : -len(last)]
        if text.startswith(first) and text.endswith(last) and first not in inner and last not in inner:
            return _strip_quotes(inner)
    return text


def truncate(text: str, max_chars: int) -> str:
    """Cut a text to ``max_chars``: after a sentence if that keeps more than half of them, else after a word."""
    if len(text) <= max_chars:
        return text
    start = text[:max_chars]
    end = max(start.rfind(sign) for sign in (". ", "! ", "? ", ".\n", "。", "！", "？")) + 1
    return start[:end].strip() if end > max_chars / 2 else (start.rpartition(" ")[0] or start).strip()
