"""State ledger: current fields (place, condition, belongings ...) of characters, objects, places and factions."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.extraction.parsers.records import ParsedLines, Record, has_lines, normalize_word, parse_lines
from apps.extraction.parsers.text_cleanup import clean_line, halfwidth, one_line, tag_safe_name
from apps.extraction.prompts.task import NAME_PATTERN, TEXT_PATTERN, Task
from apps.extraction.steps.asking import Answer
from apps.extraction.steps.context import Context, StageOutcome, Window, turns_material
from apps.extraction.steps.dictation import Dictation
from apps.extraction.steps.turns import source_of
from apps.extraction.tier import Form, ShownEntries, Tier
from apps.memories.candidates import LEDGER_FIELDS, StateLine
from apps.memories.models import Entity, LedgerEntry
from apps.memories.operations.ledger import write_states
from apps.memories.quotations import quotation

KINDS = (Entity.Kind.CHARACTER, Entity.Kind.OBJECT, Entity.Kind.PLACE, Entity.Kind.FACTION)
MAX_ENTITIES = 40  # entities shown to the model
CLEARED = "cleared"
MAX_VALUE = 300  # characters
_TYPES = {"person": "character", "npc": "character", "item": "object", "location": "place", "group": "faction"}
_ALIASES = {
    "character": {
        "current_location": "location", "emotion": "mood", "emotional_state": "mood", "injury": "injuries",
        "wounds": "injuries", "goals": "goal", "active_goal": "goal", "current_goal": "goal", "objective": "goal",
        "outfit_disguise": "outfit", "disguise": "outfit", "clothing": "outfit", "clothes": "outfit",
        "carried_items": "carried", "carrying": "carried", "items": "carried", "inventory": "carried",
    },
    "object": {"status": "condition", "state": "condition", "holder": "owner", "held_by": "owner",
               "current_location": "location"},
    "place": {"hazard": "hazards", "dangers": "hazards", "political_control": "control", "controlled_by": "control",
              "present": "occupants"},
    "faction": {"leader": "leadership", "leaders": "leadership", "objectives": "objective", "goal": "objective",
                "alliance": "alliances", "allies": "alliances"},
}  # fmt: skip
_NAMES = {name for kind, names in LEDGER_FIELDS.items() for name in (*names, *_ALIASES[kind])}
_NAME = "|".join(sorted((name.replace("_", "[ _-]") for name in _NAMES), key=len, reverse=True))
# Fields are separated by a bar, or by a comma or blank before the name of a known field.
_SPLIT = re.compile(rf"\|(?!\|)|[,;\s]\s*(?=[*_`]{{0,3}}(?:{_NAME})[*_`]{{0,3}}\s?=)", re.IGNORECASE)
# "mood: angry; location: mill", in a line without equals signs
_SPLIT_AT_COLONS = re.compile(rf"\|(?!\|)|[,;.\s]\s*(?=[*_`]{{0,3}}(?:{_NAME})[*_`]{{0,3}}\s?[:：])", re.IGNORECASE)
_PAIR = re.compile(r"\s*(?P<field>[^=:|]{1,60}?)\s*[=:]\s*(?P<value>.*)", re.DOTALL)
_INNER_FIELD = re.compile(rf"(?<=[,;\s])((?:{_NAME})\s?)=", re.IGNORECASE)
_PLACEHOLDERS = frozenset(
    {
        "", "unknown", "none", "nothing", "none mentioned", "not mentioned", "not specified", "unspecified", "n/a",
        "na", "not applicable", "unchanged", "no change",
    }
)  # fmt: skip
_CLEARING_WORDS = frozenset({CLEARED, "clear", "removed"})
_CLEARING_WORDS_OF = {
    "injuries": frozenset({"none", "healed", "fully healed", "no injuries", "uninjured"}),
    "goal": frozenset({"none", "nothing"}),
    "outfit": frozenset({"none", "nothing"}),
    "carried": frozenset({"none", "nothing"}),
    "hazards": frozenset({"none", "nothing"}),
    "occupants": frozenset({"none", "nothing", "nobody", "no one", "empty"}),
}


def run(context: Context, window: Window) -> StageOutcome:
    """Ask for changes in the state of the window's speakers and of the known entities that it names."""
    entities = _entities_of(context, window.turns)
    material = {"turns": turns_material(window.turns), "entities": _entities_material(context, entities)}
    return _outcome_of(context, window, context.ask("ledger", material), entities)


def run_from_reading(context: Context, window: Window, answer: Answer) -> StageOutcome:
    """Return the outcome of a reading's lines, which name their entities: no numbers were offered."""
    return _outcome_of(context, window, answer.text, _entities_of(context, window.turns))


def _outcome_of(context: Context, window: Window, reply: str, entities: Mapping[str, Entity | None]) -> StageOutcome:
    """Return the outcome of a reply about a window, for what it names of the ``entities`` and of the transcript."""
    parsed = parse_states(reply)
    transcript, shown_names = _transcript_of(window.turns), {name.casefold() for name in entities}
    dictation = Dictation(window.turns)
    lines, unused = [], list(parsed.unused)
    for line in parsed.items:
        text = " ".join([line.name, *line.fields.values(), *line.cleared])
        unknown = line.name.casefold() not in shown_names and line.name.casefold() not in transcript
        if unknown:
            unused.append(text)
            continue
        number = source_of(text, window.turns)
        if text in dictation:
            speaker = window.turns[number].name
            line = replace(
                line, fields={name: quotation(speaker, value) for name, value in line.fields.items()}, cleared=()
            )
        lines.append((line, window.turns[number]))
    return StageOutcome([lambda: Counter(ledger=write_states(context.chat, lines, context.run.pk))], unused)


def _transcript_of(turns: Mapping[int, Message]) -> str:
    return "\n".join(f"{turn.name}: {turn.mes}" for turn in turns.values()).casefold()


def _entities_of(context: Context, turns: Mapping[int, Message]) -> dict[str, Entity | None]:
    """Return the speakers, who may be unknown yet, and the known entities that the turns name, by name."""
    text = _transcript_of(turns)
    scope = Q(chat=context.chat)
    if context.chat.character_id:
        scope |= Q(character_id=context.chat.character_id)
    entities = Entity.objects.for_owner(context.owner_id).filter(scope, kind__in=KINDS).order_by("pk")
    known = {entity.name.casefold(): entity for entity in entities}
    names = {name.casefold(): name for name in context.participants}
    rows = [(names.get(key) or known[key].name, known.get(key)) for key in dict.fromkeys([*names, *known])]
    shown = [(name, row) for name, row in rows if name.casefold() in names or name.casefold() in text]
    return dict(shown[:MAX_ENTITIES])


def _entities_material(context: Context, entities: Mapping[str, Entity | None]) -> list[dict[str, Any]]:
    """Return entities as the template values of prompts, with their current fields."""
    fields = _fields(context, [row for row in entities.values() if row])
    return [
        {"name": name, "type": row.kind if row else "character", "fields": fields.get(row.pk, {}) if row else {}}
        for name, row in entities.items()
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


def parse_states(reply: str) -> ParsedLines[StateLine]:
    """Parse states. Never raise. Placeholders such as "unknown" are skipped; "cleared" clears a field.

    Fields that the entity's type does not have are listed as unused, after the entity's name.
    """
    unknown_fields: list[str] = []
    parsed = parse_lines(reply, lambda record: _state(record, unknown_fields), bullet=" | ")
    return ParsedLines(parsed.items, [*parsed.unused, *unknown_fields])


def _state(record: Record, unknown_fields: list[str]) -> StateLine | None:
    word, _, rest = (record.tag or "").partition(":")
    name, _, kind = rest.rpartition(":")
    name, kind = tag_safe_name(name), _TYPES.get(normalize_word(kind), normalize_word(kind))
    if normalize_word(word) not in ("state", "states") or not name or kind not in LEDGER_FIELDS:
        return None
    text = _halfwidth_bars(record.text)
    values, unknown = _values(kind, filter(str.strip, (_SPLIT if "=" in text else _SPLIT_AT_COLONS).split(text)))
    if not values:
        return None
    unknown_fields += [f"{name}: {one_line(pair)}" for pair in unknown]
    fields = {field: value for field, value in values.items() if value is not None}
    return StateLine(name, kind, fields, tuple(field for field, value in values.items() if value is None))


def _halfwidth_bars(text: str) -> str:
    return "".join(halfwidth(char) if halfwidth(char) in "|=" else char for char in text)


def _values(kind: str, pairs: Iterable[str]) -> tuple[dict[str, str | None], list[str]]:
    """Return the values by field (None: cleared) and the pairs that could not be used. The last value counts."""
    values: dict[str, str | None] = {}
    unknown: list[str] = []
    for pair in pairs:
        match = _PAIR.fullmatch(pair)
        name = _field(kind, match["field"]) if match else None
        if match is None or name is None:
            unknown.append(pair)
            continue
        value = clean_line(match["value"], MAX_VALUE)
        word = value.casefold().strip(" \t.,;?!-–—()[]*_`\"'")
        values.pop(name, None)
        if word in _CLEARING_WORDS or word in _CLEARING_WORDS_OF.get(name, ()):
            values[name] = None
        elif word not in _PLACEHOLDERS:
            values[name] = value
    return values, unknown


def _field(kind: str, word: str) -> str | None:
    name = normalize_word(word).replace(" ", "_").replace("-", "_")
    name = _ALIASES[kind].get(name, name)
    return name if name in LEDGER_FIELDS[kind] else None


def format_state(line: StateLine) -> str:
    """Return ``line`` formatted so that ``parse_states`` reads it back; bars in values become slashes."""
    pairs = [f"{name}={_escape_value(value)}" for name, value in line.fields.items()]
    pairs += [f"{name}={CLEARED}" for name in line.cleared]
    return f"[state:{tag_safe_name(line.name)}:{line.type}] {' | '.join(pairs)}"


def _escape_value(value: str) -> str:
    return _INNER_FIELD.sub(r"\1:", clean_line(_halfwidth_bars(value).replace("|", "/"), MAX_VALUE))


LEDGER = Task(
    "ledger",
    _("The current state of characters, objects and places."),
    ("transcript", "entities"),
    max_tokens=400,
    is_usable=has_lines,
    words=("state", "states"),
    parse=parse_states,
    line_pattern=rf'\[state:{NAME_PATTERN}:(character|object|place|faction)\] [^"\\=|]+={TEXT_PATTERN}',
)
FORM = Form(
    "ledger",
    LEDGER,
    known=ShownEntries(
        "entities", lambda context, turns: _entities_material(context, _entities_of(context, turns)), max_tokens=250
    ),
)
TIER = Tier("ledger", run, (LEDGER,), forms=(FORM,), from_reading=run_from_reading)
