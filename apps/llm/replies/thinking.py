"""Separation of a model's reasoning, written in tags such as ``<think>``, from its reply."""

import re
from bisect import bisect_left
from typing import NamedTuple

# An attribute needs a value: `<thought experiment>` is prose. A tag can't span lines, so that joining parts by line
# breaks creates none.
ATTRIBUTE = r"""[ \t]+[\w:-]+[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*'|[^\s"'<>]+)"""
NAME = "think|thinking|reasoning|thought"
TAG = re.compile(rf"<(?P<end>/?)(?:{NAME})(?:{ATTRIBUTE})*[ \t]*(?P<empty>/?)>", re.IGNORECASE)
FENCE = re.compile(r"^ {0,3}(?P<mark>```|~~~)[^\n]*", re.MULTILINE)


class SplitReply(NamedTuple):
    reply: str
    reasoning: str


def split_thinking(text: str) -> SplitReply:
    """Return the text outside reasoning tags, and the text inside.

    An unclosed block reaches to the end. A closing tag without an opening one ends reasoning that began with the
    text, as from servers whose chat template contains the opening tag. Tags inside a code fence are literal content.
    A text without tags is returned unchanged.
    """
    if not TAG.search(text):
        return SplitReply(text, "")
    parts, thoughts = _split(text)
    if not thoughts:
        return SplitReply(text, "")
    reply = "".join(parts)
    if _tag_outside(reply, 0, fences_of(reply)):  # the halves of a tag met where a block was cut out
        reply = "\n".join(parts)
    return SplitReply(reply.strip(), "\n".join(filter(None, (thought.strip() for thought in thoughts))))


def _split(text: str) -> tuple[list[str], list[str]]:
    """Return the parts of the reply and the blocks of reasoning; no blocks only if no tag is outside a fence."""
    parts: list[str] = []
    thoughts: list[str] = []
    fences = fences_of(text)
    place = depth = 0
    while tag := TAG.search(text, place) if depth else _tag_outside(text, place, fences):
        (thoughts if depth else parts).append(text[place : tag.start()])
        place = tag.end()
        if tag["empty"]:
            thoughts.append("")
        elif not tag["end"]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            thoughts, parts = [*thoughts, *parts], []
    (thoughts if depth else parts).append(text[place:])
    return parts, thoughts


def fences_of(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of the fence that each line could open, in order; fences without an end are left out."""
    found: list[tuple[int, int]] = []
    closing: dict[str, int] = {}
    for line in reversed(list(FENCE.finditer(text))):
        mark = line["mark"]
        if mark in closing:
            found.append((line.start(), closing[mark]))
        if not line.group().strip(mark + " \t\r"):
            closing[mark] = line.end()
    return found[::-1]


def _tag_outside(text: str, place: int, fences: list[tuple[int, int]]) -> re.Match[str] | None:
    """Return the first tag from ``place`` on that is outside the fences which begin there."""
    tag = TAG.search(text, place)
    while tag:
        number = bisect_left(fences, (place, 0))
        if number == len(fences) or tag.start() < fences[number][0]:
            break
        place = fences[number][1]
        tag = tag if tag.start() >= place else TAG.search(text, place)
    return tag
