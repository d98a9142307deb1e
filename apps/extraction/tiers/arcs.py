"""Arcs: open plot threads of a story, and summaries of those that it resolves."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.english.words import content_words, jaccard
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.parsers.records import ParsedLines, Record, has_lines, parse_lines
from apps.extraction.parsers.text_cleanup import clean_line
from apps.extraction.prompts.task import TEXT_PATTERN, Task
from apps.extraction.steps.asking import Answer
from apps.extraction.steps.context import Context, StageOutcome, Window, turns_material
from apps.extraction.steps.dictation import Dictation
from apps.extraction.steps.turns import messages_between, source_of, within_budget
from apps.extraction.tier import Form, ShownEntries, Tier
from apps.llm.backends.selection import vectors_if_available
from apps.memories.models import Arc, Memory, Scene
from apps.memories.operations.arcs import open_arc, resolve_arc
from apps.memories.queries.arcs import open_arcs_in
from apps.memories.queries.memories import active_memories
from apps.memories.verdicts.neighbours import LOST_REASONS

MIN_TEXT = 15  # an arc's text must be longer
SAME_ARC = (0.82, 0.40)  # minimum (cosine, Jaccard index) of two equal arcs
SAME_MEMORY = (0.78, 0.45)  # the same for an arc and a session memory, which says that it has already happened
MIN_RESOLUTION_OVERLAP = 0.25  # minimum Jaccard index of a resolution and its arc
MAX_SCENES, MAX_MEMORIES = 5, 20  # entries from which a summary is made
MAX_SUMMARY = 2000  # characters
ARC, RESOLVED = "arc", "resolved"
_TAG_WORDS = {"arc", "arcs", "open", "opened", "new", "story", "thread", "resolved", "closed"}
_PART = re.compile(r"[^\W\d_]+|\d{1,9}")


@dataclass(frozen=True)
class ArcLine:
    """Open arc, or the resolution of one; ``number`` identifies the resolved arc, if given."""

    kind: str
    text: str
    number: int | None = None


@dataclass
class _Changes:
    opened: list[tuple[str, Message, Any]] = field(default_factory=list)
    resolved: dict[Any, tuple[Arc, Message, str]] = field(default_factory=dict)
    model: str = ""  # the model of the vectors


def run(context: Context, window: Window) -> StageOutcome:
    """Find arcs opened or resolved in the window; the prompt also shows as many earlier messages as fit."""
    last = window.messages[-1].index
    shown = messages_between(context.chat, last - context.settings.arcs_window + 1, window.messages[0].index - 1)
    turns = within_budget(Window(shown).turns | window.turns, context.token_budget)
    material = _arcs_material(_open_arcs(context, turns))
    reply = context.ask("arcs", {"turns": turns_material(turns), "open": material})
    return _outcome_of(context, window, reply, turns, {str(entry["number"]): entry["id"] for entry in material})


def run_from_reading(context: Context, window: Window, answer: Answer) -> StageOutcome:
    """Return the outcome of the arcs' lines of a reading, which shows the window alone."""
    return _outcome_of(context, window, answer.text, window.turns, answer.offered)


def _open_arcs(context: Context, turns: Mapping[int, Message]) -> list[Arc]:
    """Return the open arcs to show, oldest first: persistent ones, those that the turns touch, then the newest."""
    words = content_words(" ".join(turn.mes for turn in turns.values()))
    arcs = _all_open(context)
    ranked = sorted(arcs, key=lambda arc: (arc.persistent, len(words & content_words(arc.text)), arc.pk), reverse=True)
    return sorted(ranked[: context.settings.arcs_cap], key=lambda arc: arc.pk)


def _all_open(context: Context) -> list[Arc]:
    return list(open_arcs_in(context.chat).order_by("pk"))


def _arcs_material(arcs: Sequence[Arc]) -> list[dict[str, Any]]:
    """Return arcs as the template values of prompts, with their ids."""
    return [{"number": number, "text": arc.text, "id": str(arc.pk)} for number, arc in enumerate(arcs, 1)]


def _outcome_of(
    context: Context, window: Window, reply: str, shown: Mapping[int, Message], offered: Mapping[str, str]
) -> StageOutcome:
    parsed = parse_arcs(reply)
    known = _all_open(context)
    by_id = {str(arc.pk): arc for arc in known}
    numbered = {int(number): by_id[pk] for number, pk in offered.items() if pk in by_id}
    dictation = Dictation(shown)
    # A message can open a thread as something that was said, but not end one.
    lines = [
        replace(line, text=dictation.as_said(line.text)) if line.text in dictation else line
        for line in parsed.items
        if line.kind == "arc" or line.text not in dictation
    ]
    unused = [*parsed.unused, *(line.text for line in parsed.items if line.kind != "arc" and line.text in dictation)]
    changes = _Changes()
    _open_new(context, [line for line in lines if line.kind == "arc"], known, shown, changes)
    for line in lines:
        if line.kind == "resolved":
            _resolve(context, line, numbered, window.turns, changes)

    def write() -> Counter[str]:
        for text, message, vector in changes.opened:
            model = changes.model if vector is not None else ""
            open_arc(context.chat, text, message, vector=vector, model=model, run_id=context.run.pk)
        resolved = sum(resolve_arc(arc, message, summary) for arc, message, summary in changes.resolved.values())
        return Counter(arcs=len(changes.opened), resolved=resolved)

    return StageOutcome([write], unused)


def _open_new(
    context: Context,
    lines: Sequence[ArcLine],
    open_arcs: Sequence[Arc],
    turns: Mapping[int, Message],
    changes: _Changes,
) -> None:
    """Add the arcs that are not similar to an open or dismissed arc or to a session memory.

    Their source may be an earlier message than those of the window.
    """
    lines = [line for line in lines if len(line.text) > MIN_TEXT]
    vectors, model = vectors_if_available(context.owner_id, [line.text for line in lines])
    changes.model = model
    closed = Arc.objects.for_owner(context.owner_id).filter(chat=context.chat)
    closed = closed.exclude(pk__in=[arc.pk for arc in open_arcs])
    # An arc that lost its source, or was retired by a fresh start, may be opened again.
    closed = closed.exclude(retired_reason__in=LOST_REASONS)
    others = [(arc.text, arc.embedding if arc.embedding_model == model else None) for arc in [*open_arcs, *closed]]
    memories = [
        (memory.text, memory.embedding if memory.embedding_model == model else None)
        for memory in active_memories(context.chat, Memory.Tier.SESSION, None)
    ]
    for number, line in enumerate(lines):
        vector = None if vectors is None else vectors[number]
        if _is_similar(line.text, vector, others, *SAME_ARC) or _is_similar(line.text, vector, memories, *SAME_MEMORY):
            continue
        others.append((line.text, vector))
        changes.opened.append((line.text, turns[source_of(line.text, turns, with_names=False)], vector))


def _is_similar(text: str, vector: Any, rows: Sequence[tuple[str, Any]], min_cosine: float, min_jaccard: float) -> bool:
    """Return whether one of ``rows`` (text, vector) is similar, by cosine, or by words if a vector is missing."""
    return any(
        float(np.dot(vector, other)) >= min_cosine
        if vector is not None and other is not None
        else jaccard(text, other_text) >= min_jaccard
        for other_text, other in rows
    )


def _resolve(
    context: Context,
    line: ArcLine,
    numbered: Mapping[int, Arc],
    turns: Mapping[int, Message],
    changes: _Changes,
) -> None:
    """Resolve the arc whose number a line names or, if it names none, the arcs with similar words."""
    if line.number is not None:
        resolved_arcs = [numbered[line.number]] if line.number in numbered else []
    else:
        resolved_arcs = [arc for arc in numbered.values() if jaccard(arc.text, line.text) >= MIN_RESOLUTION_OVERLAP]
    for arc in resolved_arcs:
        if arc.pk not in changes.resolved:
            source = turns[source_of(line.text, turns, with_names=False)]
            changes.resolved[arc.pk] = (arc, source, _summary(context, arc, line.text))


def _summary(context: Context, arc: Arc, resolution: str) -> str:
    """Ask for a summary of an arc. Return the resolution itself without one, or after a reading by a small model."""
    if context.reading is not None and context.settings.profile == "A":
        return resolution
    scenes = Scene.objects.for_owner(context.owner_id).filter(chat=context.chat, state=Scene.State.FOUND)
    recaps = scenes.exclude(recap="").order_by("-source__index").values_list("recap", flat=True)[:MAX_SCENES]
    words = content_words(arc.text)
    memories = [
        memory.text
        for memory in active_memories(context.chat, Memory.Tier.SESSION, None).order_by("pk")
        if words & content_words(memory.text)
    ]
    material = {"arc": arc.text, "scenes": list(recaps)[::-1], "memories": [*memories[-MAX_MEMORIES:], resolution]}
    reply = context.ask.unless_refused("arc_summary", material)
    return context.attributed(parse_free_text(reply, MAX_SUMMARY), material) or resolution


def parse_arcs(reply: str) -> ParsedLines[ArcLine]:
    """Parse arcs and resolutions. Never raise."""
    return parse_lines(reply, _arc)


def _arc(record: Record) -> ArcLine | None:
    parts = _PART.findall((record.tag or "").lower())
    words = {part for part in parts if not part.isdecimal()}
    text = clean_line(record.text)
    if not text or not words <= _TAG_WORDS or not words & {ARC, "arcs", RESOLVED}:
        return None
    if not words & {RESOLVED, "closed"}:
        return ArcLine(ARC, text)
    return ArcLine(RESOLVED, text, next((int(part) for part in parts if part.isdecimal()), None))


def format_arc(line: ArcLine) -> str:
    """Return ``line`` formatted so that ``parse_arcs`` reads it back."""
    number = f":{line.number}" if line.kind == RESOLVED and line.number is not None else ""
    return f"[{line.kind}{number}] {clean_line(line.text)}"


ARCS = Task(
    "arcs",
    _("Story arcs that begin or are resolved."),
    ("transcript", "open"),
    max_tokens=400,
    is_usable=has_lines,
    words=("arc", "arcs", "resolved", "closed", "thread", "open"),
    parse=parse_arcs,
    line_pattern=rf"\[(arc|resolved:[0-9]+)\] {TEXT_PATTERN}",
)
ARC_SUMMARY = Task(
    "arc_summary",
    _("A summary of a resolved arc."),
    ("arc",),
    ("scenes", "memories"),
    max_tokens=300,
    example={"memories": ["Tom took the chart from Mira's bag."]},
)
FORM = Form(
    "arcs",
    ARCS,
    known=ShownEntries("open", lambda context, turns: _arcs_material(_open_arcs(context, turns)), max_tokens=250),
)
TIER = Tier("arcs", run, (ARCS, ARC_SUMMARY), forms=(FORM,), from_reading=run_from_reading)
