"""The lines of the state ledger: ``[state:Name:type] field=value | field=value``. Pure."""

import re
from collections.abc import Iterable

from apps.extraction.parsers.plain import inside_tag, narrow, one_line, sentence
from apps.extraction.parsers.records import Reading, Record, read, word_of
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
# A bar parts fields; so does what stands between a value and the next known field.
_SPLIT = re.compile(rf"\|(?!\|)|[,;\s]\s*(?=[*_`]{{0,3}}(?:{_NAME})[*_`]{{0,3}}\s?=)", re.IGNORECASE)
_PAIR = re.compile(r"\s*(?P<field>[^=:|]{1,60}?)\s*[=:]\s*(?P<value>.*)", re.DOTALL)
_INNER_FIELD = re.compile(rf"(?<=[,;\s])((?:{_NAME})\s?)=", re.IGNORECASE)

_PLACEHOLDERS = frozenset(
    {
        "", "unknown", "none", "nothing", "none mentioned", "not mentioned", "not specified", "unspecified", "n/a",
        "na", "not applicable", "unchanged", "no change",
    }
)  # fmt: skip
_CLEARS = frozenset({CLEARED, "clear", "removed"})
_CLEARS_OF = {
    "injuries": frozenset({"none", "healed", "fully healed", "no injuries", "uninjured"}),
    "goal": frozenset({"none", "nothing"}),
    "outfit": frozenset({"none", "nothing"}),
    "carried": frozenset({"none", "nothing"}),
    "hazards": frozenset({"none", "nothing"}),
    "occupants": frozenset({"none", "nothing", "nobody", "no one", "empty"}),
}


def parse_states(reply: str) -> Reading[StateLine]:
    """Read states. Never raises. Placeholders such as "unknown" say nothing; "cleared" ends what held.

    Fields that the type does not have are reported as unused, with the name of what they were said of.
    """
    strange: list[str] = []
    reading = read(reply, lambda record: _state(record, strange), bullet=" | ")
    return Reading(reading.items, [*reading.unused, *strange])


def _state(record: Record, strange: list[str]) -> StateLine | None:
    word, _, rest = (record.tag or "").partition(":")
    name, _, kind = rest.rpartition(":")
    name, kind = inside_tag(name), _TYPES.get(word_of(kind), word_of(kind))
    if word_of(word) not in ("state", "states") or not name or kind not in LEDGER_FIELDS:
        return None
    values, unknown = _values(kind, filter(str.strip, _SPLIT.split(_narrow_bars(record.text))))
    if not values:
        return None
    strange += [f"{name}: {one_line(pair)}" for pair in unknown]
    fields = {field: value for field, value in values.items() if value is not None}
    return StateLine(name, kind, fields, tuple(field for field, value in values.items() if value is None))


def _narrow_bars(text: str) -> str:
    return "".join(narrow(char) if narrow(char) in "|=" else char for char in text)


def _values(kind: str, pairs: Iterable[str]) -> tuple[dict[str, str | None], list[str]]:
    """The values by field, None for a cleared one, and the pairs that could not be used. The last of a field counts."""
    values: dict[str, str | None] = {}
    unknown: list[str] = []
    for pair in pairs:
        match = _PAIR.fullmatch(pair)
        name = _field(kind, match["field"]) if match else None
        if match is None or name is None:
            unknown.append(pair)
            continue
        value = sentence(match["value"], MAX_VALUE)
        word = value.casefold().strip(" \t.,;?!-–—()[]*_`\"'")
        values.pop(name, None)
        if word in _CLEARS or word in _CLEARS_OF.get(name, ()):
            values[name] = None
        elif word not in _PLACEHOLDERS:
            values[name] = value
    return values, unknown


def _field(kind: str, word: str) -> str | None:
    name = word_of(word).replace(" ", "_").replace("-", "_")
    name = _ALIASES[kind].get(name, name)
    return name if name in LEDGER_FIELDS[kind] else None


def print_state(line: StateLine) -> str:
    """The line that reads as ``line`` again; bars in values become strokes."""
    pairs = [f"{name}={_printed(value)}" for name, value in line.fields.items()]
    pairs += [f"{name}={CLEARED}" for name in line.cleared]
    return f"[state:{inside_tag(line.name)}:{line.type}] {' | '.join(pairs)}"


def _printed(value: str) -> str:
    return _INNER_FIELD.sub(r"\1:", sentence(_narrow_bars(value).replace("|", "/"), MAX_VALUE))
