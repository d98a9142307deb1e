"""Relationships: changes between characters in the turns of a window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.chats.models import Character, Chat, Message
from apps.extraction.parsers.relationships import RelationshipLine, format_relationship, parse_relationships
from apps.extraction.stages.context import Context, turns_material
from apps.extraction.stages.people import canonical_names, is_named, known_people, known_things
from apps.extraction.stages.provenance import find_source_turn
from apps.memories.candidates import MAGNITUDES
from apps.memories.models import Entity, Relationship
from apps.memories.operations.relationships import write_relationships
from apps.memories.operations.verdicts import VerdictBatch
from apps.memories.queries.endings import endings_seen_in, has_ended
from apps.search.questions import mentions

MAX_TOKENS = 300
MAX_OTHERS = 40  # people shown to the model whom the turns don't name
MAX_DESCRIPTORS = 6  # per directed pair, shown to the model
_THINGS = (Entity.Kind.PLACE, Entity.Kind.OBJECT, Entity.Kind.FACTION, Entity.Kind.CONCEPT)


@dataclass(frozen=True)
class RelationshipChanges:
    """Changed relationships between known characters, each with its source message."""

    chat: Chat
    character: Character | None
    lines: Sequence[tuple[RelationshipLine, Message]]
    run_id: Any

    def write(self) -> int:
        return write_relationships(self.chat, self.character, self.lines, self.run_id)


def find_relationship_changes(context: Context, batch: VerdictBatch) -> RelationshipChanges | None:
    """Ask for changes in the turns. Return None, without asking, if nothing in them is new. Raise Refused."""
    if not context.replies and not batch.verdicts and not _was_invalidated(context, batch):
        return None
    people = known_people(context, batch.character)
    names = _names(context, batch, people)
    material = {"turns": turns_material(batch.turns), "names": names, "known": known_relationships(context)}
    parsed = parse_relationships(
        context.ask("relationships", material, max_tokens=MAX_TOKENS, parse=parse_relationships)
    )
    context.unused += parsed.unused
    canonical = {**_new_people(context, batch, parsed.items), **canonical_names(context.participants, people)}
    texts = {number: f"{turn.name}: {turn.mes}" for number, turn in batch.turns.items()}
    witnessed = context.witnessed(batch.turns)  # one reading is for all members of a group
    lines = []
    for parsed_line in parsed.items:
        subject, target = (canonical.get(name.casefold()) for name in (parsed_line.subject, parsed_line.target))
        if not subject or not target or subject.casefold() == target.casefold():
            context.unused.append(format_relationship(parsed_line))
        else:
            line = replace(parsed_line, subject=subject, target=target)
            if (source := _source_of(line, texts)) in witnessed:
                lines.append((line, batch.turns[source]))
    return RelationshipChanges(context.chat, batch.character, lines, context.run.pk)


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


def _source_of(line: RelationshipLine, texts: Mapping[int, str]) -> int:
    """Return the number of the turn that a line most likely comes from."""
    text = " ".join([line.subject, line.target, *(descriptor.word for descriptor in line.added), *line.removed])
    number = find_source_turn(text, texts)
    assert number is not None
    return number


def _names(context: Context, batch: VerdictBatch, people: Sequence[Entity]) -> list[str]:
    """Return the names that the model is shown: speakers, people named in the turns, then the newest others."""
    text = "\n".join(turn.mes for turn in batch.turns.values())
    named = [person.name for person in people if is_named(person, text)]
    candidates = [verdict.candidate for verdict in batch.verdicts]
    named += [item.name for one in candidates for item in one.entities if item.kind == Entity.Kind.CHARACTER]
    others = [person.name for person in people[:MAX_OTHERS]]
    return list(dict.fromkeys([*context.participants, *named, *others]))


def known_relationships(context: Context) -> list[dict[str, Any]]:
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
