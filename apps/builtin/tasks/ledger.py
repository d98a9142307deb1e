"""Answer the task ``ledger``: track the state of people, things, places and factions in the chat's wording."""

from collections.abc import Mapping
from typing import Any

from apps.builtin.reading.statements import statements_of
from apps.builtin.story.character_states import character_changes
from apps.builtin.story.state_changes import StateChange, apply_changes, same_value
from apps.builtin.story.thing_states import thing_changes
from apps.extraction.parsers.text_cleanup import tag_safe_name
from apps.extraction.tiers.ledger import StateLine, format_state
from apps.llm.generation import GenerationRequest

MAX_VALUE = 120  # characters


def ledger(request: GenerationRequest) -> str:
    """Return a line for each entity whose fields the turns change."""
    entities = request.material.get("entities", ())
    known = {(tag_safe_name(entity["name"]).casefold(), entity["type"]): entity["fields"] for entity in entities}
    changes: dict[tuple[str, str], list[StateChange]] = {}
    for statement in statements_of(request.material):
        for change in (*character_changes(statement), *thing_changes(statement)):
            if len(change.value) <= MAX_VALUE:
                changes.setdefault((tag_safe_name(change.name).casefold(), change.kind), []).append(change)
    lines = (_state_line(entity_changes, known.get(key, {})) for key, entity_changes in changes.items())
    return "\n".join(filter(None, lines)) or "NONE"


def _state_line(changes: list[StateChange], fields: Mapping[str, Any]) -> str:
    """Return a line with the fields that differ after the changes; empty if none do."""
    before = {name: str(value) for name, value in fields.items() if value}
    after = apply_changes(changes, before)
    values = {name: value for name, value in after.items() if not same_value(name, value, before.get(name, ""))}
    cleared = tuple(name for name in before if name not in after)
    return format_state(StateLine(changes[0].name, changes[0].kind, values, cleared)) if values or cleared else ""
