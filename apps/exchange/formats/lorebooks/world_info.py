"""Convert SillyTavern's world info to and from the normalised form."""

from collections.abc import Mapping
from typing import Any

from apps.chats.lorebook_entries import (
    AFTER,
    BEFORE,
    EXTENSION_DEFAULTS,
    are_regex,
    as_flag,
    as_number,
    as_texts,
    normalise_book,
    normalise_entry,
    read_entries,
)
from apps.chats.repairs import Warn

# SillyTavern's keys for fields of the card specification.
SPEC_FIELDS = {
    "key": "keys",
    "keysecondary": "secondary_keys",
    "comment": "comment",
    "content": "content",
    "constant": "constant",
    "order": "insertion_order",
}
# Fields that only SillyTavern has: their names in its own files, and in the extensions of a card's entries.
EXTENSIONS = {
    "position": "position",
    "excludeRecursion": "exclude_recursion",
    "preventRecursion": "prevent_recursion",
    "delayUntilRecursion": "delay_until_recursion",
    "displayIndex": "display_index",
    "probability": "probability",
    "useProbability": "useProbability",
    "depth": "depth",
    "selectiveLogic": "selectiveLogic",
    "outletName": "outlet_name",
    "group": "group",
    "groupOverride": "group_override",
    "groupWeight": "group_weight",
    "scanDepth": "scan_depth",
    "caseSensitive": "case_sensitive",
    "matchWholeWords": "match_whole_words",
    "useGroupScoring": "use_group_scoring",
    "matchPersonaDescription": "match_persona_description",
    "matchCharacterDescription": "match_character_description",
    "matchCharacterPersonality": "match_character_personality",
    "matchCharacterDepthPrompt": "match_character_depth_prompt",
    "matchScenario": "match_scenario",
    "matchCreatorNotes": "match_creator_notes",
    "automationId": "automation_id",
    "role": "role",
    "vectorized": "vectorized",
    "sticky": "sticky",
    "cooldown": "cooldown",
    "delay": "delay",
    "triggers": "triggers",
    "ignoreBudget": "ignore_budget",
}
# The position before the character's description. The specification knows only this and "after".
BEFORE_CHARACTER = 0
# Keys that `read_entry` converts itself. `addMemo` only controls whether SillyTavern displays the comment.
_CONVERTED = {"uid", "disable", "selective", "extensions", "addMemo"}
# Fields of the specification that Chub and others write into entries of this form.
_ALSO_KNOWN = {"name", "priority", "enabled", "case_sensitive", "use_regex", *SPEC_FIELDS.values()}


def read_book(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Convert world info to a normalised book."""
    entries = [read_entry(entry, index, warn) for index, entry in enumerate(read_entries(book, warn))]
    # `originalData` is a copy of the card's book from which SillyTavern imported the file.
    rest = {key: value for key, value in book.items() if key not in ("entries", "originalData")}
    return normalise_book(rest, warn) | {"entries": entries}


def read_card_book(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Convert a book in the form of cards to a normalised one. Some may be as in SillyTavern's files."""
    entries = book.get("entries")
    values = list(entries.values()) if isinstance(entries, dict) else entries if isinstance(entries, list) else []
    if any(map(_is_world_info, values)):
        read = (read_entry(value, at, warn) if _is_world_info(value) else value for at, value in enumerate(values))
        book = {**book, "entries": list(read)}
    return normalise_book(book, warn)


def _is_world_info(entry: Any) -> bool:
    return isinstance(entry, dict) and "key" in entry and "keys" not in entry


def read_entry(entry: Mapping[str, Any], index: int, warn: Warn) -> dict[str, Any]:
    """Convert an entry. Files of 2023 lack most fields, others have some as cards name them. Unknown ones are kept."""
    converted = {*SPEC_FIELDS, *EXTENSIONS, *_CONVERTED, *_ALSO_KNOWN}
    unknown = {key: value for key, value in entry.items() if key not in converted}
    imported = entry.get("extensions")
    extras = {name: entry[key] for key, name in EXTENSIONS.items() if key in entry and entry[key] is not None}
    place = extras.pop("position", BEFORE_CHARACTER)
    if place in (BEFORE, AFTER):
        place = (BEFORE, AFTER).index(place)
    place = as_number(place, place)
    fields = {name: entry.get(key, entry.get(name)) for key, name in SPEC_FIELDS.items()}
    is_disabled = as_flag(entry.get("disable"), False) or not as_flag(entry.get("enabled"), True)
    return normalise_entry(
        {
            **fields,
            "id": entry.get("uid", index),
            "name": entry.get("name"),
            "priority": entry.get("priority"),
            "enabled": not is_disabled,
            "selective": as_flag(entry.get("selective"), True),
            "position": BEFORE if place == BEFORE_CHARACTER else AFTER,
            "case_sensitive": extras.get("case_sensitive", entry.get("case_sensitive")),
            "use_regex": as_flag(entry.get("use_regex"), are_regex(as_texts(fields["keys"], lambda _: None))),
            "extensions": unknown | (imported if isinstance(imported, dict) else {}) | {"position": place} | extras,
        },
        index,
        warn,
    )


def write_book(document: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a normalised book to world info, an object with the entries under their uids."""
    rest = {key: value for key, value in document.items() if key != "entries" and value not in (None, "", {}, False)}
    return {"entries": {str(uid): write_entry(entry, uid) for uid, entry in enumerate(document["entries"])}} | rest


def write_entry(entry: Mapping[str, Any], uid: int) -> dict[str, Any]:
    """Convert a normalised entry to one of world info."""
    extensions = EXTENSION_DEFAULTS | entry["extensions"]
    if extensions["case_sensitive"] is None:
        extensions["case_sensitive"] = entry["case_sensitive"]
    written = {"uid": uid} | {key: entry[name] for key, name in SPEC_FIELDS.items()}
    written |= {key: entry[key] for key in ("name", "priority") if entry[key] not in ("", None)}
    written |= {"selective": entry["selective"], "addMemo": bool(entry["comment"]), "disable": not entry["enabled"]}
    written |= {key: extensions[name] for key, name in EXTENSIONS.items()}
    return written | {key: value for key, value in extensions.items() if key not in EXTENSIONS.values()}
