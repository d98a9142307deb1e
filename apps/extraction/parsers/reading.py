"""Divide replies that have the lines of several tasks in any order. Without database access."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from apps.extraction.parsers.answers import is_relation, parse_relations
from apps.extraction.parsers.arcs import parse_arcs
from apps.extraction.parsers.continuity import parse_contradictions
from apps.extraction.parsers.epistemic import KINDS as KNOWLEDGE_KINDS
from apps.extraction.parsers.epistemic import RETIRE, parse_knowledge
from apps.extraction.parsers.json_lines import lines_of_objects
from apps.extraction.parsers.ledger import parse_states
from apps.extraction.parsers.memories import parse_memories
from apps.extraction.parsers.merges import parse_merges
from apps.extraction.parsers.records import (
    Line,
    ParsedLines,
    Record,
    has_lines,
    is_tagged,
    iter_records,
    normalize_word,
    parse_numbers,
    says_none,
    unused_report,
)
from apps.extraction.parsers.relationships import parse_relationships
from apps.extraction.parsers.text_cleanup import clean_line, halfwidth

KINDS = {
    "session": ("scene", "revelation", "development", "detail"),
    "long_term": ("fact", "relationship", "preference", "event"),
}
MAX_RECORDS = 500
_WORDS = {
    **{word: task for task, kinds in KINDS.items() for kind in kinds for word in (kind, f"{kind}s")},
    **dict.fromkeys(("arc", "arcs", "resolved", "closed", "thread", "open"), "arcs"),
    **dict.fromkeys(("state", "states"), "ledger"),
    **dict.fromkeys((*KNOWLEDGE_KINDS, "know", "suspect", "believe", "hides", "hide", RETIRE, "retired"), "epistemic"),
    **dict.fromkeys(("feels", "feel"), "relationships"),
    **dict.fromkeys(("break", "scene break", "scene_break", "breaks"), "scenes"),
}
_REVIEW_WORDS = {
    **dict.fromkeys(("pair", "pairs"), "pairs"),
    **dict.fromkeys(("merge", "merged", "merges"), "consolidate"),
    **dict.fromkeys(("contradiction", "contradictions", "conflict"), "continuity"),
}
_PARSERS: Mapping[str, Callable[[str], ParsedLines[Any]]] = {
    **{task: partial(parse_memories, kinds=kinds) for task, kinds in KINDS.items()},
    "relationships": parse_relationships,
    "arcs": parse_arcs,
    "ledger": parse_states,
    "epistemic": parse_knowledge,
}
_REVIEW_PARSERS: Mapping[str, Callable[[str], ParsedLines[Any]]] = {
    "pairs": parse_relations,
    "consolidate": parse_merges,
    "continuity": parse_contradictions,
}
_HEAD = re.compile(r"[^:=#(/\d]+")
_ARROW = re.compile(r"^[^|\[\]:]{1,100}\s(?:[-–—=]{1,3}>|→)\s[^|\[\]:]{1,100}:")


@dataclass(frozen=True)
class SceneBreak:
    """A message, by its number, that begins a scene, and a recap of the scene before it."""

    number: int
    recap: str


@dataclass(frozen=True)
class DividedReply:
    """Lines by task, scene breaks, and the lines that belong to none."""

    texts: Mapping[str, str] = field(default_factory=dict)
    breaks: list[SceneBreak] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def divide_reply(reply: str) -> DividedReply:
    """Divide a reply by task. Never raise. JSON objects are read as lines if there are no lines."""
    divided = _divide(iter_records(reply, _starts), reply)
    if not divided.texts and not divided.breaks and "{" in reply:
        from_objects = _divide(iter_records(lines_of_objects(reply), _starts), reply)
        return from_objects if from_objects.texts or from_objects.breaks else divided
    return divided


def is_reading(reply: str) -> bool:
    """Return whether a reply has a line of any task, or says that there is nothing to note."""
    divided = divide_reply(reply)
    return bool(divided.texts or divided.breaks) or any(map(says_none, iter_records(reply, _starts)))


def parse_reading(reply: str) -> ParsedLines[Any]:
    """Parse the lines of all tasks. Never raise."""
    divided = divide_reply(reply)
    return _joined(divided, _PARSERS, divided.breaks)


def divide_review(reply: str) -> DividedReply:
    """Divide a reply to a review by task. Lines without a tag, and with a number as tag, are answers about pairs."""
    lines: dict[str, list[str]] = {}
    unused: list[str] = []
    for record in iter_records(reply, lambda line: is_tagged(line) or is_relation(line)):
        match = _HEAD.match(record.tag or "")
        task = _REVIEW_WORDS.get(normalize_word(match[0])) if match else "pairs"
        if task:
            lines.setdefault(task, []).append(record.written if task == "pairs" else record.line)
        elif not says_none(record):
            unused.append(record.line)
    return DividedReply(_texts_of(lines), [], unused_report(unused, 0, reply))


def parse_review(reply: str) -> ParsedLines[Any]:
    """Parse the answers to all questions of a review. Never raise."""
    return _joined(divide_review(reply), _REVIEW_PARSERS)


def is_review(reply: str) -> bool:
    """Return whether a reply has a tagged line or the answer about a pair, or says that there is nothing to note."""
    return has_lines(reply) or bool(parse_review(reply).items)


def _joined(
    divided: DividedReply, parsers: Mapping[str, Callable[[str], ParsedLines[Any]]], items: Sequence[Any] = ()
) -> ParsedLines[Any]:
    parts = [parsers[task](text) for task, text in divided.texts.items()]
    items = [*items, *(item for part in parts for item in part.items)]
    return ParsedLines(items, [*divided.unused, *(line for part in parts for line in part.unused)])


def _texts_of(lines: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {task: "\n".join(found) for task, found in lines.items()}


def _divide(records: Iterator[Record], reply: str) -> DividedReply:
    lines: dict[str, list[str]] = {}
    breaks: list[SceneBreak] = []
    unused: list[str] = []
    for count, record in enumerate(records):
        task = _task_of(record) if count < MAX_RECORDS else None
        if task == "scenes":
            numbers = parse_numbers(record.tag or "") or parse_numbers(record.text[:20])
            if numbers:
                breaks.append(SceneBreak(numbers[0], clean_line(record.text)))
            else:
                unused.append(record.line)
        elif task == "relationships":
            people = (record.tag or "").partition(":")[2]  # "[feels: Subject -> Target] word(strength)"
            text = f"{people}: {record.text}" if _ARROW.match(f"{people}:") else record.text
            lines.setdefault(task, []).append(record.line if record.tag is None else text)
        elif task:
            lines.setdefault(task, []).append(f"[{record.tag}] {record.text}")
        elif not says_none(record):
            unused.append(record.line)
    return DividedReply(_texts_of(lines), breaks, unused_report(unused, 0, reply))


def _starts(line: Line) -> bool:
    return is_tagged(line) or bool(_ARROW.match(halfwidth(line.text)))


def _task_of(record: Record) -> str | None:
    if record.tag is None:
        return "relationships" if _ARROW.match(halfwidth(record.line)) else None
    match = _HEAD.match(record.tag)
    return _WORDS.get(normalize_word(match[0])) if match else None
