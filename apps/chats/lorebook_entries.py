"""Normalise lorebooks to the form in which they are stored: the `character_book` of card version 3, all fields set.

Fields that only SillyTavern has are in an entry's `extensions`, under the names that SillyTavern uses in cards.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.chats.repairs import Warn, as_integer, as_text, object_at

MAX_ENTRIES = 20_000
BEFORE, AFTER = "before_char", "after_char"
_REGEX_KEY_PATTERN = re.compile(r"/.+/[gimsuy]*", re.DOTALL)
# One of several keys in one text: a regular expression, which may have commas, or a text up to the next comma.
_KEY_IN_TEXT_PATTERN = re.compile(r"\s*(/(?:[^/\\]|\\.)+/[gimsuy]*)\s*(?:,|$)|([^,]*)(?:,|$)", re.DOTALL)

# SillyTavern's fields that are not in the specification, and their defaults.
EXTENSION_DEFAULTS: dict[str, Any] = {
    "position": 0,  # where in the prompt: 0 before, 1 after the character, 2-3 author's note, 4 at `depth`, ...
    "exclude_recursion": False,
    "prevent_recursion": False,
    "delay_until_recursion": False,
    "display_index": 0,
    "probability": 100,  # percent
    "useProbability": True,
    "depth": 4,
    "selectiveLogic": 0,  # applies to the secondary keys: 0 any, 1 not all, 2 none, 3 all must match
    "outlet_name": "",
    "group": "",  # only one entry per group is inserted
    "group_override": False,
    "group_weight": 100,
    "scan_depth": None,
    "case_sensitive": None,
    "match_whole_words": None,
    "use_group_scoring": None,
    "match_persona_description": False,
    "match_character_description": False,
    "match_character_personality": False,
    "match_character_depth_prompt": False,
    "match_scenario": False,
    "match_creator_notes": False,
    "automation_id": "",
    "role": None,  # role of an entry at `depth`: 0 system, 1 user, 2 assistant
    "vectorized": False,
    # Counted in messages: how long an entry stays active, then stays inactive, and the chat length it needs.
    "sticky": None,
    "cooldown": None,
    "delay": None,
    "triggers": [],
    "ignore_budget": False,
}
# Extensions with numbers that have no default.
_NUMERIC_EXTENSIONS = ("scan_depth", "role", "sticky", "cooldown", "delay")
# A book's numeric fields. Null means the program's default.
NUMERIC_FIELDS = ("scan_depth", "token_budget")


@dataclass(frozen=True)
class ParsedLorebook:
    """A lorebook: the name of its format, the normalised document, and the value as imported."""

    format: str
    document: dict[str, Any]
    original: Any


def normalise_book(book: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Return a book in the form of cards with all fields set, followed by its unknown fields."""
    known: dict[str, Any] = {key: text_at(book, key, warn) for key in ("name", "description")}
    known |= {key: as_integer(book.get(key)) for key in NUMERIC_FIELDS}
    known["recursive_scanning"] = as_flag(book.get("recursive_scanning"), False)
    known["extensions"] = object_at(book, "extensions", warn)
    entries = [normalise_entry(entry, index, warn) for index, entry in enumerate(read_entries(book, warn))]
    others = {key: value for key, value in book.items() if key not in known and key != "entries"}
    return known | others | {"entries": entries}


def read_entries(book: Mapping[str, Any], warn: Warn, key: str = "entries") -> list[dict[str, Any]]:
    """Return a book's entries. SillyTavern has them in an object with numbers as keys, other programs in an array."""
    value = book.get(key)
    entries = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if len(entries) > MAX_ENTRIES:
        warn(f"Only the first {MAX_ENTRIES} of the lorebook's {len(entries)} entries were kept.")
    if not all(isinstance(entry, dict) for entry in entries):
        warn("An entry of the lorebook was not an object: it was left out.")
    return [entry for entry in entries[:MAX_ENTRIES] if isinstance(entry, dict)]


def normalise_entry(entry: Mapping[str, Any], index: int, warn: Warn) -> dict[str, Any]:
    """Return an entry in the form of cards with all fields set. `index` becomes its id if it has none."""
    extensions = EXTENSION_DEFAULTS | {"display_index": index} | _with_numbers(object_at(entry, "extensions", warn))
    known: dict[str, Any] = {
        "id": entry.get("id", index),
        "keys": as_texts(entry.get("keys"), warn),
        "secondary_keys": as_texts(entry.get("secondary_keys"), warn),
        "name": text_at(entry, "name", warn),
        "comment": text_at(entry, "comment", warn),
        "content": text_at(entry, "content", warn),
        "enabled": as_flag(entry.get("enabled"), True),
        "constant": as_flag(entry.get("constant"), False),
        "selective": as_flag(entry.get("selective"), False),
        "insertion_order": as_number(entry.get("insertion_order"), 100),
        "priority": as_number(entry.get("priority"), None),
        "position": entry.get("position") if entry.get("position") in (BEFORE, AFTER) else BEFORE,
        "case_sensitive": as_flag(entry.get("case_sensitive"), None),
        "use_regex": as_flag(entry.get("use_regex"), False),
    }
    if _is_by_sillytavern(entry):
        known["use_regex"] = are_regex(known["keys"])
    if not _has_position(entry):
        # One that the specification doesn't have is kept: the entry has no place in a prompt.
        place = entry.get("position")
        extensions["position"] = place if place and known["position"] != place else int(known["position"] == AFTER)
    return known | {key: value for key, value in entry.items() if key not in known} | {"extensions": extensions}


def _has_position(entry: Mapping[str, Any]) -> bool:
    extensions = entry.get("extensions")
    return isinstance(extensions, dict) and "position" in extensions


def _with_numbers(extensions: Mapping[str, Any]) -> dict[str, Any]:
    """Return extensions in which numbers that are written as texts are numbers, and positions too."""
    changed = dict(extensions)
    for key, value in extensions.items():
        default = EXTENSION_DEFAULTS.get(key)
        is_number = key in _NUMERIC_EXTENSIONS or (isinstance(default, int) and not isinstance(default, bool))
        if is_number and isinstance(value, str):
            changed[key] = as_number(value, value)
    if changed.get("position") in (BEFORE, AFTER):
        changed["position"] = (BEFORE, AFTER).index(changed["position"])
    return changed


def _is_by_sillytavern(entry: Mapping[str, Any]) -> bool:
    """Return whether SillyTavern wrote an entry into a card: then `use_regex` is true whatever its keys are."""
    extensions = entry.get("extensions")
    is_likely = isinstance(extensions, dict) and {"selectiveLogic", "useProbability"} <= extensions.keys()
    return is_likely and not {"name", "priority", "case_sensitive"} & entry.keys()


def are_regex(keys: list[str]) -> bool:
    """Return whether all keys are regular expressions, written /like this/i."""
    return bool(keys) and all(map(is_regex, keys))


def is_regex(key: str) -> bool:
    """Return whether SillyTavern reads a key as a regular expression, written /like this/i."""
    return bool(_REGEX_KEY_PATTERN.fullmatch(key))


def text_at(value: Mapping[str, Any], key: str, warn: Warn) -> str:
    """Return the text under `key`, or an empty string."""
    return "" if value.get(key) is None else as_text(value[key], warn)


def as_texts(value: Any, warn: Warn) -> list[str]:
    """Return a list of texts, which may be written as one text, separated by commas."""
    if isinstance(value, str):
        found = (match[1] or match[2] or "" for match in _KEY_IN_TEXT_PATTERN.finditer(value))
        return [part.strip() for part in found if part.strip()]
    return [as_text(item, warn) for item in value if item is not None] if isinstance(value, list) else []


def as_flag(value: Any, default: Any) -> Any:
    """Return a boolean, which may be written as a number or a string, or `default`."""
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.strip().lower(), default)
    return bool(value) if isinstance(value, bool | int) else default


def as_number(value: Any, default: Any) -> Any:
    """Return a number, which may be written as a string, or `default`."""
    if isinstance(value, str):
        value = as_integer(value)
    return default if value is None or isinstance(value, bool) or not isinstance(value, int | float) else value
