"""Relationships: changes between characters in the turns of a window, which long-term memories bring along."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.extraction.parsers.records import ParsedLines, Record, parse_lines
from apps.extraction.parsers.text_cleanup import MAX_NAME, clean_name, halfwidth, one_line
from apps.extraction.prompts import examples
from apps.extraction.prompts.task import NAME_PATTERN, TEXT_PATTERN, Task
from apps.extraction.steps.context import Context, Write, turns_material
from apps.extraction.steps.people import canonical_names, is_named, known_people, known_things
from apps.extraction.steps.turns import source_of
from apps.extraction.tier import Form, ShownEntries
from apps.memories.candidates import MAGNITUDES, MEDIUM, Descriptor, RelationshipLine
from apps.memories.models import Entity, Relationship
from apps.memories.operations.relationships import write_relationships
from apps.memories.operations.verdict_writing import VerdictBatch
from apps.memories.queries.endings import endings_seen_in, has_ended
from apps.search.questions import mentions

MAX_OTHERS = 40  # people shown to the model whom the turns don't name
MAX_DESCRIPTORS = 6  # per directed pair, shown to the model
_THINGS = (Entity.Kind.PLACE, Entity.Kind.OBJECT, Entity.Kind.FACTION, Entity.Kind.CONCEPT)
MAX_WORD = 60  # characters
MAX_WORDS = 30  # maximum number of descriptors in one line
MAX_LINE = 2000  # characters
_ARROW = re.compile(r"\s*(?:[-–—=]{1,3}>|[→⟶➔➜⇒➝])\s*")
_PIECE = re.compile(r"(?:[^,;|()]|\([^()]*\)?|\))+")
_IN_PARENTHESES = re.compile(r"(?P<word>[^()]*)\((?P<magnitude>[^()]*)\)?[^()]*")
_AFTER_SEPARATOR = re.compile(r"(?P<word>[^:=/]*[^:=/\s])\s*[:=/]\s*(?P<magnitude>low|medium|high)", re.IGNORECASE)
_REMOVED = re.compile(r"(?:!|no longer\s)\s*", re.IGNORECASE)
_HEDGES = {
    "low": re.compile(r"(?:slightly|somewhat|a bit|a little|mildly)\s+(?=\S)", re.IGNORECASE),
    "high": re.compile(r"(?:very|extremely|deeply|intensely|profoundly)\s+(?=\S)", re.IGNORECASE),
}
_NOTHING = frozenset({"", "none", "unchanged", "no change", "no changes", "n/a", "unknown"})
_EDGES = " \t*_`~\"“”'‘’[].!+-–—("
# Names and an arrow, as in a line that begins without a tag.
_PEOPLE = re.compile(r"^[^|\[\]:]{1,100}\s(?:[-–—=]{1,3}>|→)\s[^|\[\]:]{1,100}:")


def relationship_changes(context: Context, batch: VerdictBatch) -> Write | None:
    """Return what writes the changes in the turns. Raise Refused.

    They are the lines of FORM in a reading for all tiers, where the tier long_term asks for them. Without one, ask for
    them here, or return None if nothing is new. Each is between known characters, and has a source message.
    """
    if context.reading is None and not batch.verdicts and not _was_invalidated(context, batch):
        return None
    people = known_people(context, batch.character)
    reply = _ask(context, batch, people) if context.reading is None else context.reading[FORM.name].text
    parsed = parse_relationships(reply)
    context.notes.unused += parsed.unused
    canonical = {**_new_people(context, batch, parsed.items), **canonical_names(context.participants, people)}
    witnessed = context.witnessed(batch.turns)  # one reading is for all members of a group
    lines: list[tuple[RelationshipLine, Message]] = []
    for parsed_line in parsed.items:
        subject, target = (canonical.get(name.casefold()) for name in (parsed_line.subject, parsed_line.target))
        if not subject or not target or subject.casefold() == target.casefold():
            context.notes.unused.append(format_relationship(parsed_line))
        else:
            line = replace(parsed_line, subject=subject, target=target)
            text = " ".join([subject, target, *(descriptor.word for descriptor in line.added), *line.removed])
            if (source := source_of(text, batch.turns)) in witnessed:
                lines.append((line, batch.turns[source]))

    def write() -> Counter[str]:
        return Counter(relationships=write_relationships(context.chat, batch.character, lines, context.run.pk))

    return write


def _ask(context: Context, batch: VerdictBatch, people: Sequence[Entity]) -> str:
    names = _names(context, batch, people)
    material = {"turns": turns_material(batch.turns), "names": names, "known": _known_relationships(context)}
    return context.ask("relationships", material)


def _new_people(context: Context, batch: VerdictBatch, lines: Sequence[RelationshipLine]) -> dict[str, str]:
    """Return the people whom lines name for the first time, by casefolded name: the turns must name them too."""
    text = "\n".join(turn.mes for turn in batch.turns.values())
    candidates = [verdict.candidate for verdict in batch.verdicts]
    things = known_things(context, batch.character)
    things |= {item.name.casefold() for one in candidates for item in one.entities if item.kind in _THINGS}
    names = {name for line in lines for name in (line.subject, line.target)}
    return {
        name.casefold(): name
        for name in names
        if not name[:1].islower() and name.casefold() not in things and mentions(text, name)
    }


def _was_invalidated(context: Context, batch: VerdictBatch) -> bool:
    """Return whether a relationship was retired because one of the turns has changed."""
    turns = [turn.pk for turn in batch.turns.values()]
    return (
        Relationship.objects.for_owner(context.owner_id)
        .filter(source__in=turns, state=Relationship.State.RETIRED)
        .exists()
    )


def _names(context: Context, batch: VerdictBatch, people: Sequence[Entity]) -> list[str]:
    """Return the names that the model is shown: speakers, people named in the turns, then the newest others."""
    text = "\n".join(turn.mes for turn in batch.turns.values())
    named = [person.name for person in people if is_named(person, text)]
    candidates = [verdict.candidate for verdict in batch.verdicts]
    named += [item.name for one in candidates for item in one.entities if item.kind == Entity.Kind.CHARACTER]
    others = [person.name for person in people[:MAX_OTHERS]]
    return list(dict.fromkeys([*context.participants, *named, *others]))


def _known_relationships(context: Context) -> list[dict[str, Any]]:
    """Return the current relationships as template values, grouped by pair; the strongest and newest of each."""
    rows = Relationship.objects.for_owner(context.owner_id).filter(chat=context.chat, state=Relationship.State.CURRENT)
    rows = rows.filter(~has_ended(Relationship, endings_seen_in(context.chat)))
    by_pair: dict[tuple[str, str], list[Relationship]] = {}
    for row in rows.select_related("subject", "target").order_by("pk"):
        by_pair.setdefault((row.subject.name, row.target.name), []).append(row)
    return [
        {
            "subject": subject,
            "target": target,
            "descriptors": [
                {"word": row.descriptor, "magnitude": row.magnitude}
                for row in sorted(of_pair, key=lambda row: (MAGNITUDES.index(row.magnitude), row.pk))[-MAX_DESCRIPTORS:]
            ],
        }
        for (subject, target), of_pair in by_pair.items()
    ]


def parse_relationships(reply: str) -> ParsedLines[RelationshipLine]:
    """Parse changes of relationships. Never raise. The caller checks the names."""
    return parse_lines(
        reply, _relationship, starts=lambda line: bool(_ARROW.search(halfwidth(line.text[: 2 * MAX_NAME]))), bullet=", "
    )


def _relationship(record: Record) -> RelationshipLine | None:
    subject_text, *rest = _ARROW.split(halfwidth(record.line[:MAX_LINE]), maxsplit=1)
    target_text, _, words = "".join(rest).partition(":")
    if "<" in subject_text or not rest or _ARROW.search(target_text):
        return None
    subject, target = clean_name(subject_text), clean_name(target_text)
    added, removed = _descriptors(words)
    if not subject or not target or not (added or removed):
        return None
    return RelationshipLine(subject, target, added, removed)


def _descriptors(words: str) -> tuple[tuple[Descriptor, ...], tuple[str, ...]]:
    """Return the added descriptors, each with its highest magnitude, and the removed ones."""
    added: dict[str, str] = {}
    removed: dict[str, None] = {}
    for piece in map(str.strip, _PIECE.findall(words)[:MAX_WORDS]):
        removal = _REMOVED.match(piece.lstrip(" *_`[+"))
        item = _descriptor(piece.lstrip(" *_`[+")[removal.end() :] if removal else piece)
        if item.word in _NOTHING or not any(map(str.isalnum, item.word)):
            continue
        if removal:
            removed[item.word] = None
        else:
            added[item.word] = max(added.get(item.word, MAGNITUDES[0]), item.magnitude, key=MAGNITUDES.index)
    return tuple(Descriptor(word, magnitude) for word, magnitude in added.items()), tuple(removed)


def _descriptor(piece: str) -> Descriptor:
    match = _IN_PARENTHESES.fullmatch(piece) or _AFTER_SEPARATOR.fullmatch(piece.strip(_EDGES))
    word = _word(match["word"] if match else piece)
    stated = match["magnitude"].strip(_EDGES).lower() if match else ""
    hedged = MEDIUM
    for magnitude, hedge in _HEDGES.items():
        while prefix := hedge.match(word):
            word, hedged = word[prefix.end() :], magnitude
    return Descriptor(word, stated if stated in MAGNITUDES else hedged)


def _word(text: str) -> str:
    """Return a descriptor in lower case, without the marks around it."""
    return one_line(re.sub("[(),;|]", " ", text.lower()).strip(_EDGES), MAX_WORD).strip(_EDGES)


def format_relationship(line: RelationshipLine) -> str:
    """Return ``line`` formatted so that ``parse_relationships`` reads it back."""
    words = [f"{item.word}({item.magnitude})" for item in line.added] + [f"!{word}" for word in line.removed]
    return f"{line.subject} -> {line.target}: {', '.join(words)}"


def _line_of(record: Record) -> str:
    """Return a line of a reading without its tag, which may name the people: "[feels: Subject -> Target] word"."""
    if record.tag is None:
        return record.line
    people = record.tag.partition(":")[2]
    return f"{people}: {record.text}" if _PEOPLE.match(f"{people}:") else record.text


RELATIONSHIPS = Task(
    "relationships",
    _("How relationships between people change."),
    ("transcript", "names"),
    ("known",),
    max_tokens=300,
    words=("feels", "feel"),
    parse=parse_relationships,
    example={"known": examples.RELATIONSHIPS},
)
FORM = Form(
    "relationships",
    RELATIONSHIPS,
    line_pattern=rf"\[feels\] {NAME_PATTERN} -> {NAME_PATTERN}: {TEXT_PATTERN}",
    line_of=_line_of,
    untagged=_PEOPLE,
    known=ShownEntries("relationships", lambda context, _turns: _known_relationships(context), max_tokens=120),
)
