"""State ledger: current fields (place, condition, belongings ...) of characters, objects, places and factions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Q

from apps.extraction.parsers.ledger import parse_states
from apps.extraction.parsers.records import has_lines
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.stages.dictation import Dictation
from apps.extraction.stages.provenance import find_source_turn
from apps.memories.models import Entity, LedgerEntry
from apps.memories.operations.ledger import write_states
from apps.memories.quotations import quotation

MAX_TOKENS = 400
KINDS = (Entity.Kind.CHARACTER, Entity.Kind.OBJECT, Entity.Kind.PLACE, Entity.Kind.FACTION)
MAX_ENTITIES = 40  # entities shown to the model


def run(context: Context, window: Window) -> StageOutcome:
    """Ask for changes in the state of the window's speakers and of the known entities that it names."""
    if not window.turns:
        return NO_OUTCOME
    transcript = "\n".join(f"{turn.name}: {turn.mes}" for turn in window.turns.values()).casefold()
    entities = entities_of(context, transcript)
    material = {"turns": turns_material(window.turns), "entities": entities}
    reply = context.ask("ledger", material, max_tokens=MAX_TOKENS, is_usable=has_lines, parse=parse_states)
    parsed = parse_states(reply)
    shown_names = {entity["name"].casefold() for entity in entities}
    texts = {number: f"{turn.name}: {turn.mes}" for number, turn in window.turns.items()}
    dictation = Dictation(window.turns)
    lines, unused = [], list(parsed.unused)
    for line in parsed.items:
        text = " ".join([line.name, *line.fields.values(), *line.cleared])
        unknown = line.name.casefold() not in shown_names and line.name.casefold() not in transcript
        if unknown:
            unused.append(text)
            continue
        number = find_source_turn(text, texts)
        assert number is not None
        if text in dictation:
            speaker = window.turns[number].name
            line = replace(
                line, fields={name: quotation(speaker, value) for name, value in line.fields.items()}, cleared=()
            )
        lines.append((line, window.turns[number]))
    return StageOutcome(lambda: Counter(ledger=write_states(context.chat, lines, context.run.pk)), unused)


def entities_of(context: Context, text: str) -> list[dict[str, Any]]:
    """Return the speakers, and the known entities that ``text`` names, with their current fields."""
    scope = Q(chat=context.chat)
    if context.chat.character_id:
        scope |= Q(character_id=context.chat.character_id)
    entities = Entity.objects.for_owner(context.owner_id).filter(scope, kind__in=KINDS).order_by("pk")
    known = {entity.name.casefold(): entity for entity in entities}
    names = {name.casefold(): name for name in context.participants}
    rows = [(names.get(key) or known[key].name, known.get(key)) for key in dict.fromkeys([*names, *known])]
    shown = [(name, row) for name, row in rows if name.casefold() in names or name.casefold() in text][:MAX_ENTITIES]
    fields = _fields(context, [row for _, row in shown if row])
    return [
        {"name": name, "type": row.kind if row else "character", "fields": fields.get(row.pk, {}) if row else {}}
        for name, row in shown
    ]


def _fields(context: Context, entities: Sequence[Entity]) -> dict[Any, dict[str, str]]:
    """Return the current fields of entities by entity id."""
    rows = LedgerEntry.objects.for_owner(context.owner_id).filter(
        chat=context.chat, state=LedgerEntry.State.CURRENT, entity__in=entities
    )
    fields: dict[Any, dict[str, str]] = {}
    for row in rows:
        fields.setdefault(row.entity_id, {})[row.field] = row.value
    return fields
