"""Separate a model's reasoning, written in tags such as ``<think>``, from its reply."""

import re
from bisect import bisect_left
from typing import NamedTuple

# An attribute needs a value: `<thought experiment>` is prose. A tag can't span lines, so joining parts with a line
# break can't form a new tag.
ATTRIBUTE = r"""[ \t]+[\w:-]+[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*'|[^\s"'<>]+)"""
TAG_NAMES = r"(?:\w{1,20}:)?(?:think|thinking|reasoning|thought)"
# The tags, and what the templates of Mistral, Cohere, Kimi and Gemma have in their place.
TAG = re.compile(
    rf"(?i:<(?P<end>/?){TAG_NAMES}(?:{ATTRIBUTE})*[ \t]*(?P<empty>/?)>)"
    r"|\[THINK\]|<\|START_THINKING\|>|◁think▷|<\|channel>thought\b"
    r"|(?P<other_end>\[/THINK\]|<\|END_THINKING\|>|◁/think▷|<channel\|>)"
)
AROUND_REPLY = re.compile(r"<\|(?:START|END)_RESPONSE\|>")  # follows thoughts of Cohere's models
# What gpt-oss says in a channel. The final one is the reply.
CHANNEL = re.compile(
    r"\s*(?:<\|start\|>\w*)?<\|channel\|>\s*(?P<name>\w+)(?:[^<]|<\|constrain\|>)*<\|message\|>"
    r"(?P<text>(?:[^<]|<(?!\|(?:start|channel|end|return|call)\|>))*)(?:<\|(?:end|return|call)\|>)?"
)
FENCE = re.compile(r"^ {0,3}(?P<delimiter>```|~~~)[^\n]*", re.MULTILINE)


class SplitReply(NamedTuple):
    reply: str
    reasoning: str


def split_thinking(text: str) -> SplitReply:
    """Return the text outside reasoning tags, and the text inside.

    An unclosed block reaches to the end. A closing tag without an opening one ends reasoning that began with the
    text: some servers' chat templates contain the opening tag. Tags inside a code fence are literal content.
    A text without tags is returned unchanged.
    """
    if channels := _channels(text):
        return channels
    if not TAG.search(text):
        return SplitReply(text, "")
    parts, thoughts = _split(text)
    if not thoughts:
        return SplitReply(text, "")
    reply = AROUND_REPLY.sub("", "".join(parts))
    if _tag_outside(reply, 0, fences_of(reply)):  # removing a block joined two halves of a tag
        reply = "\n".join(parts)
    return SplitReply(reply.strip(), "\n".join(filter(None, (thought.strip() for thought in thoughts))))


def _channels(text: str) -> SplitReply | None:
    """Return what is said in the channels with which a text begins; None if it begins with none."""
    said: list[tuple[str, str]] = []
    position = 0
    while channel := CHANNEL.match(text, position):
        said.append((channel["name"], channel["text"].strip()))
        position = channel.end()
    if not said:
        return None
    replies = [words for name, words in said if name == "final"] + [text[position:].strip()]
    thoughts = [words for name, words in said if name != "final"]
    return SplitReply("\n".join(filter(None, replies)), "\n".join(filter(None, thoughts)))


def _split(text: str) -> tuple[list[str], list[str]]:
    """Return the parts of the reply and the blocks of reasoning. Without tags outside fences there are no blocks."""
    parts: list[str] = []
    thoughts: list[str] = []
    fences = fences_of(text)
    position = depth = 0
    while tag := TAG.search(text, position) if depth else _tag_outside(text, position, fences):
        (thoughts if depth else parts).append(text[position : tag.start()])
        position = tag.end()
        if tag["empty"]:
            thoughts.append("")
        elif not (tag["end"] or tag["other_end"]):
            depth += 1
        elif depth:
            depth -= 1
        else:
            thoughts += parts
            parts = []
    (thoughts if depth else parts).append(text[position:])
    return parts, thoughts


def fences_of(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of the fence that each line could open, in order, except fences that are never closed."""
    fences: list[tuple[int, int]] = []
    fence_ends: dict[str, int] = {}
    for line in reversed(list(FENCE.finditer(text))):
        delimiter = line["delimiter"]
        if delimiter in fence_ends:
            fences.append((line.start(), fence_ends[delimiter]))
        if not line.group().strip(delimiter + " \t\r"):
            fence_ends[delimiter] = line.end()
    return fences[::-1]


def _tag_outside(text: str, position: int, fences: list[tuple[int, int]]) -> re.Match[str] | None:
    """Return the first tag from ``position`` on that is outside all fences that begin there or later."""
    tag = TAG.search(text, position)
    while tag:
        index = bisect_left(fences, (position, 0))
        if index == len(fences) or tag.start() < fences[index][0]:
            break
        position = fences[index][1]
        tag = tag if tag.start() >= position else TAG.search(text, position)
    return tag
