"""Read the fields of a card document of any version, and convert it to version 2 or 3.

Version 1 has its fields at the top level, versions 2 and 3 under `data`. SillyTavern writes both;
`data` takes precedence. Pygmalion and oobabooga have the fields of version 1 under other names.
"""

import copy
from collections.abc import Mapping
from typing import Any

from apps.chats.repairs import Warn, as_name, as_text, object_at

V2 = {"spec": "chara_card_v2", "spec_version": "2.0"}
V3 = {"spec": "chara_card_v3", "spec_version": "3.0"}

# The names of a field in version 1, Pygmalion and oobabooga. The first that is present counts.
ALIASES: dict[str, tuple[str, ...]] = {
    "name": ("name", "char_name"),
    "description": ("description", "char_persona", "context"),
    "personality": ("personality",),
    "scenario": ("scenario", "world_scenario"),
    "first_mes": ("first_mes", "char_greeting", "greeting"),
    "mes_example": ("mes_example", "example_dialogue"),
    "creator_notes": ("creator_notes", "creatorcomment"),
}
# Names of fields that no lorebook has.
_CARD_ONLY = {name for field, names in ALIASES.items() for name in names} - {"name", "description"}
TEXT_FIELDS = (*ALIASES, "system_prompt", "post_history_instructions", "creator", "character_version", "nickname")
LIST_FIELDS = ("alternate_greetings", "group_only_greetings", "tags", "source")
OBJECT_FIELDS = ("extensions", "creator_notes_multilingual")
FIELDS = (*TEXT_FIELDS, *LIST_FIELDS, *OBJECT_FIELDS)
# The fields that version 2 requires, even if empty.
V2_FIELDS = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"),
    *("system_prompt", "post_history_instructions", "alternate_greetings", "tags", "creator", "character_version"),
    "extensions",
)


def is_card(value: Any) -> bool:
    """Return whether a JSON value is a card of any version."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("data"), dict):
        is_named = "name" in value["data"] or ("spec" in value and any(name in value for name in ALIASES["name"]))
        return is_named and "entries" not in value["data"]  # a lorebook has `entries`
    if isinstance(value.get("entries"), dict | list) and not _CARD_ONLY & value.keys():
        return False  # a lorebook with a name and a description, as those of Chub have
    # A name alone is not enough: chats and presets have one too.
    present = {field for field, names in ALIASES.items() if any(name in value for name in names)}
    return "name" in present and len(present) > 1


def format_of(card: Mapping[str, Any]) -> str:
    """Return the format of a card: card_v1, card_v2, card_v3, pygmalion or oobabooga."""
    if isinstance(card.get("data"), dict):
        return "card_v3" if card.get("spec") == V3["spec"] else "card_v2"
    if "char_name" in card:
        return "pygmalion"
    return "oobabooga" if "context" in card or "greeting" in card else "card_v1"


def check_version(card: Mapping[str, Any], warn: Warn) -> None:
    """Warn if the card's version is newer than version 3."""
    version = str(card.get("spec_version"))
    if isinstance(card.get("data"), dict) and (_is_newer(card) or version.split(".")[0] not in ("None", "1", "2", "3")):
        warn(f"The card is of version {version[:20]}. Fields newer than version 3 were kept, but not interpreted.")


def read_fields(card: Mapping[str, Any], warn: Warn = lambda text: None) -> dict[str, Any]:
    """Return all `FIELDS` of a card in the types that are stored. Missing ones are empty."""
    data = _stored_fields(card)
    return (
        {field: "" if data.get(field) is None else as_text(data[field], warn) for field in TEXT_FIELDS}
        | {"name": as_name(data.get("name"), warn).strip() or _outer_name(card, warn)}
        | {field: _texts(data.get(field), field, warn) for field in LIST_FIELDS}
        | {field: object_at(data, field, warn) for field in OBJECT_FIELDS}
    )


def _outer_name(card: Mapping[str, Any], warn: Warn) -> str:
    """Return the name at the top level, where some programs write it alone: SillyTavern reads it there too."""
    return next((name for key in ALIASES["name"] if (name := as_name(card.get(key), warn).strip())), "")


def _stored_fields(card: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `data`, or the top-level fields of an older card under the names of version 3."""
    data = card.get("data")
    if isinstance(data, dict):
        return data
    fields = {key: value for key, value in card.items() if key in (*LIST_FIELDS, *TEXT_FIELDS)}
    fields |= {field: card[name] for field, names in ALIASES.items() for name in reversed(names) if name in card}
    return fields | {"extensions": {key: card[key] for key in ("talkativeness", "fav") if key in card}}


def _texts(value: Any, field: str, warn: Warn) -> list[str]:
    """Return a list of texts. Some programs write tags as one text with commas, or a single greeting without a list."""
    if isinstance(value, str):
        parts = value.split(",") if field == "tags" else [value]
        return [part.strip() if field == "tags" else part for part in parts if part.strip()]
    if value is not None and not isinstance(value, list):
        warn(f"{field} was not a list: it was treated as empty.")
    return [as_text(item, warn) for item in value if item is not None] if isinstance(value, list) else []


def as_version(document: Mapping[str, Any], spec: Mapping[str, str]) -> dict[str, Any]:
    """Return a card of at least version 2 labelled as `spec` (`V2` or `V3`). Newer cards are relabelled only for `V2`.

    Only the label changes: readers of either version ignore fields that they don't know.
    """
    if document["spec"] == spec["spec"] or (spec == V3 and _is_newer(document)):
        return dict(document)
    return {**document, **spec}


def upgrade_to_v2(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a card that is at least version 2. Older cards keep their fields and get `data`."""
    document = copy.deepcopy(dict(card))
    if isinstance(document.get("data"), dict):
        return document | {key: document.get(key, value) for key, value in V2.items()}
    fields = read_fields(card)
    return document | V2 | {"data": {field: fields[field] for field in FIELDS if field in V2_FIELDS or fields[field]}}


def blank_card() -> dict[str, Any]:
    """Return an empty card of version 3."""
    return upgrade_to_v2({}) | V3 | {"data": upgrade_to_v2({})["data"] | {"group_only_greetings": []}}


def _is_newer(card: Mapping[str, Any]) -> bool:
    return card.get("spec") not in (None, V2["spec"], V3["spec"])
