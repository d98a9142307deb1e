"""What a model thought aloud is no part of its reply."""

import re
from bisect import bisect_left
from typing import NamedTuple

# Attributes have values: `<thought experiment>` is prose. No tag spans lines: none arises where parts become lines.
ATTRIBUTE = r"""[ \t]+[\w:-]+[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*'|[^\s"'<>]+)"""
NAME = "think|thinking|reasoning|thought"
TAG = re.compile(rf"<(?P<end>/?)(?:{NAME})(?:{ATTRIBUTE})*[ \t]*(?P<empty>/?)>", re.IGNORECASE)
FENCE = re.compile(r"^ {0,3}(?P<mark>```|~~~)[^\n]*", re.MULTILINE)


class Thought(NamedTuple):
    reply: str
    reasoning: str


def split_thinking(text: str) -> Thought:
    """The reply without what stands in tags of thinking, and that.

    A block that is never closed goes on to the end. A closing tag alone ends thoughts that began with the text, as
    with servers whose template opens them. Tags in a code fence of the reply are its literal content. A text without
    tags is its own reply, unchanged.
    """
    if not TAG.search(text):
        return Thought(text, "")
    parts, thoughts = _split(text)
    if not thoughts:
        return Thought(text, "")
    reply = "".join(parts)
    if _tag_outside(reply, 0, fences_of(reply)):
        reply = "\n".join(parts)
    return Thought(reply.strip(), "\n".join(filter(None, (thought.strip() for thought in thoughts))))


def _split(text: str) -> tuple[list[str], list[str]]:
    """The parts of the reply, and the thoughts between them: none only where there is no tag outside fences."""
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
    """Where a code fence would reach from each line that may open one, in order; none from where it is never closed."""
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
    """The next tag from ``place`` on that stands in no fence that begins there."""
    tag = TAG.search(text, place)
    while tag:
        number = bisect_left(fences, (place, 0))
        if number == len(fences) or tag.start() < fences[number][0]:
            break
        place = fences[number][1]
        tag = tag if tag.start() >= place else TAG.search(text, place)
    return tag
