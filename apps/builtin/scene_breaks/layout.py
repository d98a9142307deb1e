"""A message as separators, headings and paragraphs; code, remarks out of character and pictures are left out. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

HEADING_WORDS = 12

_MARKS = r"[*\-_~=#+•·◇◆❖★☆✦⁂—–]"
_SEPARATOR = re.compile(rf"(?:{_MARKS}\s*){{3,}}|⁂|<hr ?/?>", re.IGNORECASE)
_REMARK = re.compile(r"\(\([^()\n]*\)\)|[(\[{]\s*OOC\b[^()\[\]{}\n]*[)\]}]", re.IGNORECASE)
_REMARK_LINE = re.compile(r"\W{0,3}OOC\b", re.IGNORECASE)
_PICTURE = re.compile(r"!\[[^\[\]\n]*\]\([^()\n]*\)")
_WRAPPED = re.compile(
    r"#{1,6}\s+(.+?)#*|\[(.+)\]|\((.+)\)|\{(.+)\}|\*{2,3}([^*]+)\*{2,3}|__([^_]+)__"
    r"|(?:[-~=–—]{1,5}|>{1,3})\s*([^-~=–—]+?)\s*[-~=–—<]{1,5}"
)
_TITLE = re.compile(
    r"(?:~{3,}|={2,}|-{2,}|—{2,}|\+{2,}|[◆❖★✦]+)\s*(\w[^~=+—◆❖★✦]{1,80}?)\s*(?:~{3,}|={2,}|-{2,}|—{2,}|\+{2,}|[◆❖★✦]+)"
)
_FIELD = re.compile(r"\W*(location|place|setting|scene|date|day|time|mood|outfit|weather|hp|status|thoughts?)\s*[:=]")
_FIELD_VALUE = re.compile(r"\b(?:location|place|setting|scene)\b\W*[:=]\W*([^|\n\])]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    kind: Literal["separator", "title", "heading", "paragraph", "place"]
    text: str


def blocks_of(message: str) -> Iterator[Block]:
    """The message's lines in order. A ``title`` is a line within rules, as ``== The ball ==``, and a ``place`` what a
    line such as ``Location: …`` says."""
    fenced = False
    for raw in message.splitlines():
        if raw.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            line = _PICTURE.sub(" ", _REMARK.sub(" ", raw)).strip()
            if line and not _REMARK_LINE.match(line):
                yield _block(line)


def _block(line: str) -> Block:
    if _SEPARATOR.fullmatch(line):
        return Block("separator", line)
    if _FIELD.match(line.lower()):
        value = _FIELD_VALUE.search(line)
        return Block("place", " ".join(value[1].split()).strip("*_ .").lower() if value else "")
    title = _TITLE.fullmatch(line.strip("*_ "))
    if title:
        return Block("title", title[1])
    wrapped = _WRAPPED.fullmatch(line)
    inner = next(filter(None, wrapped.groups()), "") if wrapped else ""
    if inner and len(inner.split()) <= HEADING_WORDS:
        return Block("heading", inner.strip(" *_~"))
    return Block("paragraph", line)
