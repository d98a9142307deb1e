"""Who knows what: what each character in an ended scene knows, suspects, believes or hides."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.english.words import jaccard
from apps.extraction.models import ExtractionProgress
from apps.extraction.parsers.records import ParsedLines, Record, has_lines, normalize_word, parse_lines, parse_numbers
from apps.extraction.parsers.text_cleanup import clean_line, clean_name, halfwidth
from apps.extraction.prompts import examples
from apps.extraction.prompts.task import TEXT_PATTERN, Task
from apps.extraction.steps.asking import Answer
from apps.extraction.steps.context import Context, StageOutcome, Window, turns_material
from apps.extraction.steps.dictation import Dictation
from apps.extraction.steps.people import canonical_names, known_people
from apps.extraction.steps.turns import find_source_turn, messages_between, source_of, within_budget
from apps.extraction.tier import Form, ShownEntries, Tier
from apps.memories.candidates import KnowledgeLine
from apps.memories.models import Knowledge
from apps.memories.operations.knowledge import write_knowledge
from apps.memories.operations.layer_entries import is_before
from apps.memories.queries.knowledge import knowledge_in
from apps.memories.queries.scenes import scene_ends
from apps.search.questions import mentions

# What stands between names in a list, also in the languages whose words begin a tag.
_BETWEEN_NAMES = re.compile(r"\s*[,;&/、，；]\s*(?:(?:and|und|et|y|e|и)\s+)?|\s+(?:and|und|et|y|e|и)\s+|[和と]")
SAME_ENTRY = 0.7  # minimum Jaccard index of two equal entries of a kind and a subject
MAX_KNOWN_ENTRIES = 60  # entries shown to the model
HIDING, RETIRE = "hiding", "retire"
KINDS = ("knows", "suspects", "believes", "unaware", HIDING)
_KIND_OF = {kind: kind for kind in KINDS} | {
    "know": "knows",
    "suspect": "suspects",
    "believe": "believes",
    "unaware of": "unaware",
    "hides": HIDING,
    "hide": HIDING,
}
_RETIRE = re.compile(r"retire[sd]?\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_NUMBER_LIST = re.compile(r"(?:[#\s,;:&+.\d–-]|and\b|nos?\b)*", re.IGNORECASE)
# A name of a few words, then a colon or a dash. A hyphen within a name has no spaces around it.
_NAME_AND_FACT = re.compile(r"(?P<name>[^\s|:：–—][^|:：–—\n]{0,80}?)\s*(?:[:：–—]|\s-\s)\s*(?P<fact>.+)", re.DOTALL)
# Between who hides something and from whom: also in languages whose words begin a tag, where no name has that word.
_FROM = re.compile(r"\s(?:from|vor|от)\s|\s*(?:->|→|=>)\s*", re.IGNORECASE)
MAX_NAME_WORDS = 8


def run(context: Context, window: Window) -> StageOutcome:
    """Ask about each scene that ended just before a message of the window, or that such a message belongs to."""
    outcomes = []
    for scene in _ended_scenes(context, window):
        turns = within_budget(Window(scene).turns, context.token_budget)
        if turns:
            known = _knowledge_material(context)
            material = {"turns": turns_material(turns), "participants": context.participants, "known": known}
            reply = context.ask("epistemic", material)
            offered = {str(entry["number"]): entry["id"] for entry in known}
            outcomes.append(_outcome_of(context, turns, scene[-1], reply, offered))
    writes = [write for outcome in outcomes for write in outcome.writes]
    return StageOutcome(writes, [line for outcome in outcomes for line in outcome.unused])


def run_from_reading(context: Context, window: Window, answer: Answer) -> StageOutcome:
    """Return the outcome of a reading's lines, which are about the window and not about ended scenes."""
    return _outcome_of(context, window.turns, window.messages[-1], answer.text, answer.offered)


def _ended_scenes(context: Context, window: Window) -> list[list[Message]]:
    """Return the messages of each ended scene that ends just before a message of the window, or overlaps it.

    A scene that reaches beyond the window counts as ended if it was read before.
    """
    first, last = window.messages[0].index, window.messages[-1].index
    ordered = [-1, *scene_ends(context.chat, max(last, _last_read(context)))]
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


def _known_entries(context: Context) -> list[Knowledge]:
    """Return the latest active entries, newest first."""
    return list(knowledge_in(context.chat).order_by("-pk")[:MAX_KNOWN_ENTRIES])


def _knowledge_material(context: Context) -> list[dict[str, Any]]:
    """Return the known entries as the template values of prompts, with their ids."""
    return [
        {
            "number": number,
            "kind": row.kind,
            "subject": row.subject.name,
            "target": row.target.name if row.target else "",
            "text": row.text,
            "id": str(row.pk),
        }
        for number, row in enumerate(_known_entries(context), 1)
    ]


def _outcome_of(
    context: Context, turns: Mapping[int, Message], last: Message, reply: str, offered: Mapping[str, str]
) -> StageOutcome:
    """Return the outcome of a reply about ``turns``, of which ``last`` is the last message."""
    parsed = parse_knowledge(reply)
    known = _known_entries(context)
    names = canonical_names(context.participants, known_people(context, None))
    scene, dictation = "\n".join(turn.mes for turn in turns.values()), Dictation(turns)
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
            lines.append((line, turns[source_of(f"{line.subject} {line.text}", turns)]))
    by_id = {str(row.pk): row for row in known}
    ended = [by_id[pk] for number in parsed.retired if (pk := offered.get(str(number))) in by_id]
    outdated = [(row, _end_of(row, turns) or last) for row in ended if _may_end(row, last)]

    def write() -> Counter[str]:
        return Counter(knowledge=write_knowledge(context.chat, lines, outdated, context.run.pk))

    return StageOutcome([write], unused)


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


@dataclass(frozen=True)
class ParsedKnowledge(ParsedLines[KnowledgeLine]):
    """Parsed entries, with the numbers of the known entries to retire."""

    retired: tuple[int, ...] = ()


def parse_knowledge(reply: str) -> ParsedKnowledge:
    """Parse lines about who knows what. Never raise. The caller checks the names and numbers."""
    parsed = parse_lines(reply, _knowledge)
    lines = [item for item in parsed.items if isinstance(item, KnowledgeLine)]
    numbers = [number for item in parsed.items if isinstance(item, tuple) for number in item]
    return ParsedKnowledge(lines, parsed.unused, tuple(dict.fromkeys(numbers)))


def _knowledge(record: Record) -> KnowledgeLine | tuple[int, ...] | None:
    """Return an entry, or the numbers to retire, or None for an unusable record."""
    retire = _RETIRE.fullmatch((record.tag or "").strip(" *_`"))
    if retire:
        listed = _NUMBER_LIST.match(f"{retire['rest']} {record.text}")
        return (parse_numbers(listed[0]) if listed else ()) or None
    kind = _KIND_OF.get(normalize_word(record.tag or ""))
    if kind is None:
        return None
    names, fact = _split_fact(record.text)
    subject, target = [*(_FROM.split(names, maxsplit=1) if kind == HIDING else [names]), ""][:2]
    line = KnowledgeLine(kind, clean_name(subject), clean_name(target), clean_line(fact))
    return line if line.subject and line.text else None


def _split_fact(text: str) -> tuple[str, str]:
    """Split a text into name and fact at a bar, or at a colon or dash after a name of a few words."""
    bar_index = next((index for index, char in enumerate(text) if halfwidth(char) == "|"), -1)
    if bar_index >= 0:
        return text[:bar_index], text[bar_index + 1 :]
    match = _NAME_AND_FACT.fullmatch(text)
    return (match["name"], match["fact"]) if match and len(match["name"].split()) <= MAX_NAME_WORDS else ("", text)


def format_knowledge(line: KnowledgeLine) -> str:
    """Return ``line`` formatted so that ``parse_knowledge`` reads it back."""
    target = f" from {clean_name(line.target)}" if line.kind == HIDING and line.target else ""
    return f"[{line.kind}] {clean_name(line.subject)}{target} | {clean_line(line.text)}"


def format_retired(numbers: tuple[int, ...]) -> str:
    """Return the line that retires the entries with these numbers."""
    return f"[{RETIRE}] {', '.join(map(str, numbers))}"


EPISTEMIC = Task(
    "epistemic",
    _("Who knows, suspects, believes or hides what."),
    ("transcript",),
    ("participants", "known"),
    max_tokens=400,
    is_usable=has_lines,
    words=(*KINDS, "know", "suspect", "believe", "hides", "hide", RETIRE, "retired"),
    parse=parse_knowledge,
    line_pattern=rf'\[({"|".join(KINDS)})\] [^"\\|]+ \| {TEXT_PATTERN}|\[retire\] [0-9]+',
    example={"known": examples.KNOWLEDGE},
)
FORM = Form(
    "epistemic",
    EPISTEMIC,
    known=ShownEntries("knowledge", lambda context, _turns: _knowledge_material(context), max_tokens=200),
)
TIER = Tier("epistemic", run, (EPISTEMIC,), forms=(FORM,), from_reading=run_from_reading, comes_last=True)
