"""Parse and format state ledger lines: ``[state:Name:type] field=value | field=value``. Without database access."""

import re
from collections.abc import Iterable

from apps.extraction.parsers.records import ParsedLines, Record, normalize_word, parse_lines
from apps.extraction.parsers.text_cleanup import clean_line, halfwidth, one_line, tag_safe_name
from apps.memories.candidates import LEDGER_FIELDS, StateLine

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
