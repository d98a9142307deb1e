"""Convert characters of Agnai's own format to cards of version 2."""

from collections.abc import Mapping
from typing import Any

from apps.exchange.formats.cards.document import V2
from apps.exchange.formats.conversion import as_object, join_texts

# Fields of a card and their names in Agnai. What Agnai calls the description is for readers, not for the model.
_FIELDS = {
    "name": "name",
    "scenario": "scenario",
    "first_mes": "greeting",
    "mes_example": "sampleChat",
    "creator_notes": "description",
    "system_prompt": "systemPrompt",
    "post_history_instructions": "postHistoryInstructions",
    "alternate_greetings": "alternateGreetings",
    "tags": "tags",
    "creator": "creator",
    "character_version": "characterVersion",
    "character_book": "characterBook",
}


def is_agnai(value: Any) -> bool:
    """Return whether a JSON value is a character in Agnai's own format: its persona has a kind and attributes."""
    persona = value.get("persona") if isinstance(value, dict) else None
    return isinstance(persona, dict) and isinstance(persona.get("attributes"), dict) and "name" in value


def to_card(character: Mapping[str, Any]) -> dict[str, Any]:
    """Return the card of a character. What a card has no field for is kept in its extensions."""
    others = {key: value for key, value in character.items() if key not in _FIELDS.values()}
    data = {field: character[name] for field, name in _FIELDS.items() if character.get(name) is not None}
    data |= {"description": _description(character["persona"]), "extensions": {"agnai": others}}
    return {**V2, "data": data}


def _description(persona: Mapping[str, Any]) -> str:
    """Return a persona as text: a plain one as it is, else a line for each attribute."""
    attributes = {
        key: [value for value in (values if isinstance(values, list) else [values]) if isinstance(value, str) and value]
        for key, values in as_object(persona.get("attributes")).items()
    }
    if persona.get("kind") == "text" or attributes.keys() == {"text"}:
        return join_texts(text for texts in attributes.values() for text in texts)
    return "\n".join(f"{key}: {', '.join(texts)}" for key, texts in attributes.items() if texts)
