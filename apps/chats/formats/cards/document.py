"""The card as a JSON document: which version it is, and what its fields say.

Version 1 keeps its fields at the top, versions 2 and 3 under ``data``; SillyTavern writes both. ``data`` is the truth.
Pygmalion and oobabooga have version 1 under other names.
"""

import copy
from collections.abc import Mapping
from typing import Any

from apps.chats.formats.json_lines import Warn
from apps.chats.formats.repairs import as_name, as_text, object_at

V2 = {"spec": "chara_card_v2", "spec_version": "2.0"}
V3 = {"spec": "chara_card_v3", "spec_version": "3.0"}

# Where version 1, Pygmalion and oobabooga say it, in this order.
ALIASES: dict[str, tuple[str, ...]] = {
    "name": ("name", "char_name"),
    "description": ("description", "char_persona", "context"),
    "personality": ("personality",),
    "scenario": ("scenario", "world_scenario"),
    "first_mes": ("first_mes", "char_greeting", "greeting"),
    "mes_example": ("mes_example", "example_dialogue"),
    "creator_notes": ("creator_notes", "creatorcomment"),
}
TEXTS = (*ALIASES, "system_prompt", "post_history_instructions", "creator", "character_version", "nickname")
LISTS = ("alternate_greetings", "group_only_greetings", "tags", "source")
OBJECTS = ("extensions", "creator_notes_multilingual")
FIELDS = (*TEXTS, *LISTS, *OBJECTS)
# What version 2 asks for, whether it says something or not.
SKELETON = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"),
    *("system_prompt", "post_history_instructions", "alternate_greetings", "tags", "creator", "character_version"),
    "extensions",
)


def is_card(value: Any) -> bool:
    """Whether a JSON value is a card of any kind."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("data"), dict):
        return "name" in value["data"] and "entries" not in value["data"]
    said = {field for field, names in ALIASES.items() if any(name in value for name in names)}
    return "name" in said and len(said) > 1


def format_of(card: Mapping[str, Any]) -> str:
    """What a report calls the card: card_v1, card_v2, card_v3, pygmalion or oobabooga."""
    if isinstance(card.get("data"), dict):
        return "card_v3" if card.get("spec") == V3["spec"] else "card_v2"
    if "char_name" in card:
        return "pygmalion"
    return "oobabooga" if "context" in card or "greeting" in card else "card_v1"


def check_version(card: Mapping[str, Any], warn: Warn) -> None:
    """Warn of a version that is newer than what this was written for."""
    version = str(card.get("spec_version"))
    if isinstance(card.get("data"), dict) and (_is_newer(card) or version.split(".")[0] not in ("None", "1", "2", "3")):
        warn(f"The card is of version {version[:20]}. What is newer than version 3 was kept, and not understood.")


def read_fields(card: Mapping[str, Any], warn: Warn = lambda text: None) -> dict[str, Any]:
    """What a card says of each of `FIELDS`, in the types that are stored; what is absent is empty."""
    said = _said(card)
    return (
        {field: _text(said.get(field), warn) for field in TEXTS}
        | {"name": as_name(said.get("name"), warn).strip()}
        | {field: _texts(said.get(field), field, warn) for field in LISTS}
        | {field: object_at(said, field, warn) for field in OBJECTS}
    )


def _said(card: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a card that counts, with the names of version 3."""
    data = card.get("data")
    if isinstance(data, dict):
        return data
    said = {key: value for key, value in card.items() if key in (*LISTS, *TEXTS)}
    said |= {field: card[name] for field, names in ALIASES.items() for name in reversed(names) if name in card}
    return said | {"extensions": {key: card[key] for key in ("talkativeness", "fav") if key in card}}


def _text(value: Any, warn: Warn) -> str:
    return "" if value is None else as_text(value, warn)


def _texts(value: Any, field: str, warn: Warn) -> list[str]:
    """A list of texts; some programs write one text with commas for tags, or one greeting alone."""
    if isinstance(value, str):
        parts = value.split(",") if field == "tags" else [value]
        return [part.strip() if field == "tags" else part for part in parts if part.strip()]
    if value is not None and not isinstance(value, list):
        warn(f"{field} was no list: it was taken as empty.")
    return [as_text(item, warn) for item in value if item is not None] if isinstance(value, list) else []


# Versions


def as_version(document: Mapping[str, Any], spec: Mapping[str, str]) -> dict[str, Any]:
    """A card of version 2 or 3 as ``spec`` (`V2` or `V3`). What is newer than both is labelled down only for `V2`.

    Nothing but the label changes: either version's readers leave alone what they don't know.
    """
    if document["spec"] == spec["spec"] or (spec == V3 and _is_newer(document)):
        return dict(document)
    return {**document, **spec}


def lifted(card: Mapping[str, Any]) -> dict[str, Any]:
    """A card of at least version 2, a copy: a lesser one keeps what it has, and gets ``data`` beside it."""
    document = copy.deepcopy(dict(card))
    if isinstance(document.get("data"), dict):
        return document | {key: document.get(key, value) for key, value in V2.items()}
    said = read_fields(card)
    return document | V2 | {"data": {field: said[field] for field in FIELDS if field in SKELETON or said[field]}}


def blank() -> dict[str, Any]:
    """A card of version 3 that says nothing yet."""
    return lifted({}) | V3 | {"data": lifted({})["data"] | {"group_only_greetings": []}}


def _is_newer(card: Mapping[str, Any]) -> bool:
    return card.get("spec") not in (None, V2["spec"], V3["spec"])
