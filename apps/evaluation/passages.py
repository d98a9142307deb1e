"""``--format passages``: count which annotated facts the built-in extractor keeps, and which traps it falls into.

A line of the file is a passage: ``{"id", "language", "messages": [{"id", "name", "is_user", "mes", "send_date"}],
"facts": [{"text", "sources", "keywords"}], "traps": […]}``. A memory holds a fact if its text has a keyword of each
group, alternatives being separated by ``|``, and it cites one of the fact's sources. A trap needs no source.
"""

import datetime as dt
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from apps.builtin.tasks import selection
from apps.builtin.worth.salience import LONG_TERM, SESSION
from apps.chats.dates import parse_date
from apps.evaluation.datasets import UnusableDataset, required
from apps.evaluation.json_lines import read_json_lines
from apps.extraction.memories.lines import KINDS, Candidate, parse_memories
from apps.extraction.settings.schema import DEFAULTS
from apps.llm.generation import GenerationRequest
from apps.memories.relative_dates import dated

TASKS = {LONG_TERM: selection.long_term, SESSION: selection.session}
ALL = "all"
_APOSTROPHES = str.maketrans("’‘", "''")


@dataclass(frozen=True)
class Claim:
    """A fact or a trap: the groups of alternative keywords, and the numbers of the messages that say it."""

    text: str
    groups: tuple[tuple[str, ...], ...]
    sources: frozenset[int]

    def is_in(self, memory: Candidate, *, cited: bool) -> bool:
        """Return whether a memory says it and, if it must have been ``cited``, names one of its messages."""
        if cited and self.sources and not self.sources.intersection(memory.sources):
            return False
        text = _folded(memory.text)
        return all(any(_has(text, keyword) for keyword in group) for group in self.groups)


@dataclass(frozen=True)
class AnnotatedChat:
    """An annotated chat. ``turns`` are as the extractor gets them, with the time when each was sent."""

    id: str
    language: str
    turns: tuple[dict[str, Any], ...]
    facts: tuple[Claim, ...]
    traps: tuple[Claim, ...]


@dataclass(frozen=True)
class Read:
    """A passage with the memories of it, and the seconds that these took."""

    passage: AnnotatedChat
    memories: list[Candidate]
    seconds: float

    def found(self) -> list[bool]:
        """Return for each fact whether a memory holds it."""
        return [any(fact.is_in(one, cited=True) for one in self.memories) for fact in self.passage.facts]

    def fallen_into(self) -> list[bool]:
        """Return for each trap whether a memory says it."""
        return [any(trap.is_in(one, cited=False) for one in self.memories) for trap in self.passage.traps]


def evaluate(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """Return the figures by language, and each passage's memories. Raise UnusableDataset, OSError."""
    reads = [_read(_passage(value, line)) for line, value in read_json_lines(file)]
    report(f"{len(reads)} passages")
    languages = sorted({one.passage.language for one in reads})
    figures = {name: _figures([one for one in reads if one.passage.language == name]) for name in languages}
    return {"languages": {**figures, ALL: _figures(reads)}, "passages": [_document(one) for one in reads]}


def memories_of(turns: Sequence[dict[str, Any]]) -> list[Candidate]:
    """Return what the extractor remembers of turns, read in chunks as in a run, with dates for relative ones."""
    found: dict[str, Candidate] = {}
    participants = sorted({turn["speaker"] for turn in turns})
    for start in range(0, len(turns), DEFAULTS.chunk):
        material = {"turns": turns[start : start + DEFAULTS.chunk], "participants": participants, "per_kind": None}
        for tier, task in TASKS.items():
            reply = task(GenerationRequest(task=tier, messages=[], material=material))
            for one in parse_memories(reply, KINDS[tier]).items:
                found.setdefault(one.text, one)
    sent = {turn["number"]: turn["sent_at"] for turn in turns if turn["sent_at"]}
    return [
        replace(one, text=dated(one.text, sent[one.sources[-1]], dt.UTC)) if one.sources[-1] in sent else one
        for one in found.values()
    ]


def _read(passage: AnnotatedChat) -> Read:
    start = time.perf_counter()
    memories = memories_of(passage.turns)
    return Read(passage, memories, time.perf_counter() - start)


def _passage(value: Any, line: int) -> AnnotatedChat:
    place = f"line {line}"
    messages = required(value, "messages", list, place)
    return AnnotatedChat(
        id=str(value.get("id", line)),
        language=str(value.get("language", "")),
        turns=tuple(_turn(message, f"{place}: a message") for message in messages),
        facts=tuple(_claims(value, "facts", place)),
        traps=tuple(_claims(value, "traps", place)),
    )


def _turn(message: Any, place: str) -> dict[str, Any]:
    return {
        "number": required(message, "id", int, place),
        "speaker": required(message, "name", str, place),
        "is_user": message.get("is_user") is True,
        "text": required(message, "mes", str, place),
        "sent_at": parse_date(message.get("send_date")),
    }


def _claims(value: dict[str, Any], key: str, place: str) -> Iterable[Claim]:
    for number, claim in enumerate(required(value, key, list, place)):
        here = f"{place}: {key}[{number}]"
        groups = [tuple(map(_folded, group.split("|"))) for group in required(claim, "keywords", list, here)]
        if not groups:
            raise UnusableDataset(f"{here} has no keywords.")
        yield Claim(str(claim.get("text", "")), tuple(groups), frozenset(claim.get("sources", ())))


def _folded(text: str) -> str:
    return text.casefold().translate(_APOSTROPHES)


def _has(text: str, keyword: str) -> bool:
    """Return whether a text has a keyword as words of its own; in scripts without spaces, anywhere."""
    if not keyword.isascii() and not re.search(r"[a-zа-я]", keyword):
        return keyword in text
    return bool(re.search(rf"(?<!\w){re.escape(keyword)}(?!\w)", text))


def _figures(reads: Sequence[Read]) -> dict[str, float]:
    """Return shares of facts and traps, memories a message, the share that cites a fact's message, and seconds."""
    found = [one for read in reads for one in read.found()]
    fallen = [one for read in reads for one in read.fallen_into()]
    messages = sum(len(read.passage.turns) for read in reads)
    memories = sum(len(read.memories) for read in reads)
    cited = sum(
        any(set(one.sources) & fact.sources for fact in read.passage.facts) for read in reads for one in read.memories
    )
    return {
        "messages": messages,
        "facts": len(found),
        "kept": round(sum(found) / max(len(found), 1), 3),
        "traps": round(sum(fallen) / max(len(fallen), 1), 3),
        "a message": round(memories / max(messages, 1), 2),
        "on facts": round(cited / max(memories, 1), 3),
        "seconds": round(sum(read.seconds for read in reads), 2),
    }


def _document(read: Read) -> dict[str, Any]:
    return {
        "id": read.passage.id,
        "missed": [fact.text for fact, held in zip(read.passage.facts, read.found(), strict=True) if not held],
        "fallen_into": [trap.text for trap, held in zip(read.passage.traps, read.fallen_into(), strict=True) if held],
        "memories": [one.text for one in read.memories],
    }


def table(results: dict[str, Any]) -> str:
    """Return the figures as a table with a line for each language."""
    rows = results["languages"]
    names = list(rows[ALL])
    lines = [" " * 5 + "".join(f"{name:>11}" for name in names)]
    lines += [f"{language:<5}" + "".join(f"{row[name]:>11g}" for name in names) for language, row in rows.items()]
    return "\n".join(lines)
