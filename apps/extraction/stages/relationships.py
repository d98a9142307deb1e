"""How people stand to each other: what a stretch of the story changes about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.chats.models import Character, Chat, Message
from apps.extraction.parsers.relationships import RelationshipLine, parse_relationships
from apps.extraction.stages.context import Context, turns_material
from apps.extraction.stages.provenance import attribute
from apps.llm.generation import GenerationFailed
from apps.memories.models import Entity, Relationship
from apps.memories.operations.layers import write_relationships
from apps.memories.operations.remembering import Stage

MAX_TOKENS = 300


@dataclass(frozen=True)
class Changes:
    """Lines about people who are known by name, each with the message that it came from."""

    chat: Chat
    character: Character | None
    lines: Sequence[tuple[RelationshipLine, Message]]
    run_id: Any

    def write(self) -> int:
        return write_relationships(self.chat, self.character, self.lines, self.run_id)


def changes_of(context: Context, stage: Stage) -> Changes | None:
    """What the turns change; None where they tell nothing new, and the model isn't asked."""
    if not stage.verdicts and not _told_before(context, stage):
        return None
    names = _names(context, stage)
    material = {"turns": turns_material(stage.turns), "names": names, "known": _known(context)}
    try:
        parsed = parse_relationships(context.ask("relationships", material, max_tokens=MAX_TOKENS))
    except GenerationFailed:
        return None  # the memories are worth keeping without it
    known = {name.casefold() for name in names}
    texts = {number: f"{turn.name}: {turn.mes}" for number, turn in stage.turns.items()}
    lines = [
        (line, stage.turns[_said_in(line, texts)])
        for line in parsed.items
        if {line.subject.casefold(), line.target.casefold()} <= known
        and line.subject.casefold() != line.target.casefold()
    ]
    return Changes(context.chat, stage.character, lines, context.run.pk)


def _told_before(context: Context, stage: Stage) -> bool:
    """Whether something was taken back that these turns had told in another form."""
    turns = [turn.pk for turn in stage.turns.values()]
    return Relationship.objects.for_owner(context.owner_id).filter(source__in=turns, state="retired").exists()


def _said_in(line: RelationshipLine, texts: Mapping[int, str]) -> int:
    words = " ".join([line.subject, line.target, *(one.word for one in line.added), *line.removed])
    number = attribute(words, texts)
    assert number is not None
    return number


def _names(context: Context, stage: Stage) -> list[str]:
    """Who may be spoken of: those who talk, and the people whom the registry knows."""
    character_id = stage.character_id
    scope = {"character_id": character_id} if character_id else {"chat": context.chat}
    people = Entity.objects.for_owner(context.owner_id).filter(kind=Entity.Kind.CHARACTER, **scope)
    return list(dict.fromkeys([*context.participants, *people.order_by("pk").values_list("name", flat=True)[:40]]))


def _known(context: Context) -> list[dict[str, Any]]:
    rows = Relationship.objects.for_owner(context.owner_id).filter(chat=context.chat, state="current")
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows.select_related("subject", "target").order_by("pk"):
        words = found.setdefault((row.subject.name, row.target.name), [])
        words.append({"word": row.descriptor, "magnitude": row.magnitude})
    return [{"subject": a, "target": b, "descriptors": words} for (a, b), words in found.items()]
