"""Record what each character in an ended scene knows, suspects, believes or hides."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Max

from apps.chats.models import Message
from apps.english.words import jaccard
from apps.extraction.models import ExtractionProgress
from apps.extraction.parsers.epistemic import KnowledgeLine, parse_knowledge
from apps.extraction.parsers.records import has_lines
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.stages.dictation import Dictation
from apps.extraction.stages.people import canonical_names, known_people
from apps.extraction.stages.provenance import find_source_turn
from apps.extraction.stages.turns import messages_between, within_budget
from apps.memories.models import Knowledge, Scene
from apps.memories.operations.knowledge import write_knowledge
from apps.memories.operations.layer_entries import is_before
from apps.memories.queries.knowledge import knowledge_in
from apps.search.questions import mentions

# What stands between names in a list, also in the languages whose words begin a tag.
_BETWEEN_NAMES = re.compile(r"\s*[,;&/、，；]\s*(?:(?:and|und|et|y|e|и)\s+)?|\s+(?:and|und|et|y|e|и)\s+|[和と]")
MAX_TOKENS = 400
SAME_ENTRY = 0.7  # minimum Jaccard index of two equal entries of a kind and a subject
MAX_KNOWN_ENTRIES = 60  # entries shown to the model


def run(context: Context, window: Window) -> StageOutcome:
    """Ask about each scene that ended just before a message of the window, or that such a message belongs to."""
    if not window.turns:
        return NO_OUTCOME
    outcomes = []
    for scene in _ended_scenes(context, window):
        turns = within_budget(Window(scene).turns, context.token_budget)
        if turns:
            material = knowledge_material(known_entries(context))
            reply = _ask(context, turns, material)
            offered = {str(entry["number"]): entry["id"] for entry in material}
            outcomes.append(_outcome_of(context, turns, scene[-1], reply, offered))

    def write() -> Counter[str]:
        return Counter(knowledge=sum(outcome.write()["knowledge"] for outcome in outcomes))

    return StageOutcome(write, [line for outcome in outcomes for line in outcome.unused])


def outcome_of(context: Context, window: Window, offered: Mapping[str, str]) -> StageOutcome:
    """Return the outcome of a reading; ``offered`` are the ids of entries by the numbers that the prompt showed."""
    return _outcome_of(context, window.turns, window.messages[-1], context.replies["epistemic"], offered)


def _ended_scenes(context: Context, window: Window) -> list[list[Message]]:
    """Return the messages of each ended scene that ends just before a message of the window, or overlaps it.

    A scene that reaches beyond the window counts as ended if it was read before.
    """
    first, last = window.messages[0].index, window.messages[-1].index
    scenes = Scene.objects.for_owner(context.owner_id).filter(chat=context.chat, state=Scene.State.FOUND)
    read = max(last, _last_read(context))
    ends = set(scenes.filter(source__index__lt=read).values_list("source__index", flat=True))
    rows = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, ends_scene=True)
    ends |= set(rows.filter(index__lt=read).values_list("index", flat=True))
    ordered = [-1, *sorted(ends)]
    return [
        messages_between(context.chat, ordered[position - 1] + 1, end)
        for position, end in enumerate(ordered)
        if position and end >= first - 1 and ordered[position - 1] < last
    ]


def _last_read(context: Context) -> int:
    """Return the index of the last message that this tier has read, or -1."""
    rows = ExtractionProgress.objects.for_owner(context.owner_id).filter(
        chat=context.chat, tiers__contains=["epistemic"]
    )
    last: int | None = rows.aggregate(last=Max("message__index"))["last"]
    return -1 if last is None else last


def _ask(context: Context, turns: Mapping[int, Message], known: Sequence[Mapping[str, Any]]) -> str:
    material = {"turns": turns_material(turns), "participants": context.participants, "known": known}
    return context.ask("epistemic", material, max_tokens=MAX_TOKENS, is_usable=has_lines, parse=parse_knowledge)


def known_entries(context: Context) -> list[Knowledge]:
    """Return the latest active entries, newest first."""
    return list(knowledge_in(context.chat).order_by("-pk")[:MAX_KNOWN_ENTRIES])


def knowledge_material(rows: Sequence[Knowledge]) -> list[dict[str, Any]]:
    """Return entries as the template values of prompts, with their ids."""
    return [
        {
            "number": number,
            "kind": row.kind,
            "subject": row.subject.name,
            "target": row.target.name if row.target else "",
            "text": row.text,
            "id": str(row.pk),
        }
        for number, row in enumerate(rows, 1)
    ]


def _outcome_of(
    context: Context, turns: Mapping[int, Message], last: Message, reply: str, offered: Mapping[str, str]
) -> StageOutcome:
    """Return the outcome of a reply about ``turns``, of which ``last`` is the last message."""
    parsed = parse_knowledge(reply)
    known = known_entries(context)
    names = canonical_names(context.participants, known_people(context, None))
    scene, dictation = "\n".join(turn.mes for turn in turns.values()), Dictation(turns)
    texts = {number: f"{turn.name}: {turn.mes}" for number, turn in turns.items()}
    lines: list[tuple[KnowledgeLine, Message]] = []
    unused = list(parsed.unused)
    for parsed_line in _of_one_person(parsed.items, names, scene):
        line = replace(
            parsed_line,
            subject=names.get(parsed_line.subject.casefold(), parsed_line.subject),
            target=names.get(parsed_line.target.casefold(), parsed_line.target),
            text=dictation.as_said(parsed_line.text) if parsed_line.text in dictation else parsed_line.text,
        )
        # The prompt allows people whom only the scene names.
        is_person = parsed_line.subject.casefold() in names or mentions(scene, line.subject)
        if not is_person:
            unused.append(f"{line.subject} | {line.text}")
        elif not _is_known(line, known, [other for other, _ in lines]):
            number = find_source_turn(f"{line.subject} {line.text}", texts)
            assert number is not None
            lines.append((line, turns[number]))
    by_id = {str(row.pk): row for row in known}
    ended = [by_id[pk] for number in parsed.retired if (pk := offered.get(str(number))) in by_id]
    outdated = [(row, _end_of(row, turns) or last) for row in ended if _may_end(row, last)]

    def write() -> Counter[str]:
        return Counter(knowledge=write_knowledge(context.chat, lines, outdated, context.run.pk))

    return StageOutcome(write, unused)


def _of_one_person(lines: Iterable[KnowledgeLine], names: Mapping[str, str], scene: str) -> Iterator[KnowledgeLine]:
    """Yield the lines, those about several people, or hidden from several, once for each: "Orr and Tom"."""
    for line in lines:
        for subject in _listed(line.subject, names, scene):
            for target in _listed(line.target, names, scene):
                yield replace(line, subject=subject, target=target)


def _listed(text: str, names: Mapping[str, str], scene: str) -> list[str]:
    """Return the names in a list of people whom the chat knows or the scene names; any other text is one name."""
    parts = [part for part in _BETWEEN_NAMES.split(text) if part]
    known = [part.casefold() in names for part in parts]
    is_list = any(known) and all(one or mentions(scene, part) for one, part in zip(known, parts, strict=True))
    return parts if is_list and text.casefold() not in names else [text]


def _end_of(row: Knowledge, turns: Mapping[int, Message]) -> Message | None:
    """Return the turn after the entry's own that shares most words with it, or None without such a turn."""
    later = {
        number: f"{turn.name}: {turn.mes}"
        for number, turn in turns.items()
        if row.source is None or turn.chat_id != row.source.chat_id or turn.index > row.source.index
    }
    number = find_source_turn(row.text, later)
    return None if number is None else turns[number]


def _may_end(row: Knowledge, last: Message) -> bool:
    """Return whether a scene may end an entry: one of another chat only if that was said earlier."""
    return row.chat_id == last.chat_id or is_before(row.source, last) is True


def _is_known(line: KnowledgeLine, rows: Sequence[Knowledge], lines: Sequence[KnowledgeLine]) -> bool:
    """Return whether a stored row or an earlier line says the same about the same people."""
    subject = (line.kind, line.subject.casefold(), line.target.casefold())
    stored = [
        row.text
        for row in rows
        if (row.kind, row.subject.name.casefold(), row.target.name.casefold() if row.target else "") == subject
    ]
    new = [other.text for other in lines if (other.kind, other.subject.casefold(), other.target.casefold()) == subject]
    return any(jaccard(line.text, text) >= SAME_ENTRY for text in [*stored, *new])
