"""Divide replies that have the lines of several tiers, or answers to several questions, in any order."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.extraction.memories import consolidation, pair_questions
from apps.extraction.parsers.json_objects import lines_of_objects
from apps.extraction.parsers.records import (
    Line,
    ParsedLines,
    Record,
    has_lines,
    is_tagged,
    iter_records,
    normalize_word,
    says_none,
    unused_report,
)
from apps.extraction.parsers.text_cleanup import halfwidth
from apps.extraction.reading.registry import forms_with_lines
from apps.extraction.tier import Form, Parse
from apps.extraction.tiers import continuity

MAX_RECORDS = 500
_HEAD = re.compile(r"[^:=#(/\d]+")


@dataclass(frozen=True)
class DividedReply:
    """Lines by form or question, and those that belong to none."""

    texts: Mapping[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)


def divide_reply(reply: str) -> DividedReply:
    """Divide a reply by the forms of lines. Never raise. JSON objects are read as lines if there are no lines."""
    divided = _divide(_records_of(reply), reply)
    if not divided.texts and "{" in reply:
        from_objects = _divide(_records_of(lines_of_objects(reply)), reply)
        return from_objects if from_objects.texts else divided
    return divided


def is_reading(reply: str) -> bool:
    """Return whether a reply has a line of any form, or says that there is nothing to note."""
    return bool(divide_reply(reply).texts) or any(map(says_none, _records_of(reply)))


def parse_reading(reply: str) -> ParsedLines[Any]:
    """Parse the lines of all forms. Never raise."""
    return _parse_parts(divide_reply(reply), {form.name: form.parsed for form in forms_with_lines()})


def _parse_parts(divided: DividedReply, parsers: Mapping[str, Parse]) -> ParsedLines[Any]:
    """Parse the parts of a reply, each with the parser of its name."""
    parts = [parsers[name](text) for name, text in divided.texts.items()]
    unused = [*divided.unused, *(line for part in parts for line in part.unused)]
    return ParsedLines([item for part in parts for item in part.items], unused)


def _first_word(tag: str) -> str:
    """Return the word that a tag begins with, in lower case, "" if it begins with none."""
    match = _HEAD.match(tag)
    return normalize_word(match[0]) if match else ""


def _divided(lines: Mapping[str, list[str]], unused: list[str], reply: str) -> DividedReply:
    """Return the parts of a reply from their lines."""
    return DividedReply({name: "\n".join(found) for name, found in lines.items()}, unused_report(unused, 0, reply))


def _divide(records: Iterator[Record], reply: str) -> DividedReply:
    forms = list(forms_with_lines())
    by_word = {word: form for form in forms for word in form.task.words}
    lines: dict[str, list[str]] = {}
    unused: list[str] = []
    for count, record in enumerate(records):
        form = _form_of(record, by_word, forms) if count < MAX_RECORDS else None
        if form:
            lines.setdefault(form.name, []).append(form.line_of(record))
        elif not says_none(record):
            unused.append(record.line)
    return _divided(lines, unused, reply)


def _form_of(record: Record, by_word: Mapping[str, Form], forms: list[Form]) -> Form | None:
    if record.tag is not None:
        return by_word.get(_first_word(record.tag))
    return next((form for form in forms if form.untagged and form.untagged.match(halfwidth(record.line))), None)


def _records_of(reply: str) -> Iterator[Record]:
    """Yield the records of a reply, which begin with a tag, or as lines of a form that needs none."""
    untagged = [form.untagged for form in forms_with_lines() if form.untagged]

    def starts(line: Line) -> bool:
        return is_tagged(line) or any(pattern.match(halfwidth(line.text)) for pattern in untagged)

    return iter_records(reply, starts)


# The tasks whose lines a reply to a review may have.
_ASKED = (pair_questions.PAIRS, consolidation.CONSOLIDATE, continuity.CONTINUITY)
_TASK_OF_WORD = {word: task.name for task in _ASKED for word in task.words}


def divide_review(reply: str) -> DividedReply:
    """Divide a reply to a review by task. Lines without a tag, and with a number as tag, are answers about pairs."""
    lines: dict[str, list[str]] = {}
    unused: list[str] = []
    for record in iter_records(reply, lambda line: is_tagged(line) or pair_questions.is_relation(line)):
        word = _first_word(record.tag or "")
        task = _TASK_OF_WORD.get(word) if word else "pairs"
        if task:
            lines.setdefault(task, []).append(record.written if task == "pairs" else record.line)
        elif not says_none(record):
            unused.append(record.line)
    return _divided(lines, unused, reply)


def parse_review(reply: str) -> ParsedLines[Any]:
    """Parse the answers to all questions of a review. Never raise."""
    return _parse_parts(divide_review(reply), {task.name: task.parse for task in _ASKED if task.parse})


def is_review(reply: str) -> bool:
    """Return whether a reply has a tagged line or the answer about a pair, or says that there is nothing to note."""
    return has_lines(reply) or bool(parse_review(reply).items)
