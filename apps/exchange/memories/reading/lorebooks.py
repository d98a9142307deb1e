"""Read the entries of a lorebook as memories, which their keys recall."""

from collections.abc import Iterable, Mapping
from typing import Any

from apps.chats.lorebook_entries import is_regex
from apps.chats.macros import Draws, macros_in, resolve_card_text, resolve_choices
from apps.exchange.memories.reading.found import Found, FoundMemory
from apps.exchange.memories.reading.values import cuts, objects_at, text_at
from apps.memories.models import Memory
from apps.memories.trigger_words import trigger_words
from apps.prompts.lorebooks.decorators import read_decorators

MAX_TRIGGERS = 50


def read_book(document: Mapping[str, Any], names: Mapping[str, str]) -> Found:
    """Return the entries of a book in the form of card version 3.

    ``names`` replace the macros ``{{char}}`` and ``{{user}}``. An entry that is always inserted becomes pinned, one
    that is switched off hidden. A trigger is one word: a key of several words recalls by its longest.
    """
    found = Found(warnings=cuts(document))
    for entry in objects_at(document, "entries"):
        decorated = read_decorators(text_at(entry, "content"))
        text = _replaced(resolve_choices(decorated.text, Draws()), names)
        if not text:
            found.warn("An entry without a text was not read.")
            continue
        keys = [_replaced(key, names) for key in entry.get("keys", []) if isinstance(key, str)]
        if any(map(is_regex, keys)) or entry.get("use_regex") is True:
            found.warn("Keys that are regular expressions were not read: their entries are found by their words.")
            keys = [key for key in keys if not is_regex(key) and entry.get("use_regex") is not True]
        if macros_in(keys):
            found.warn("Keys with macros that have no value here were not read.")
            keys = [key for key in keys if not macros_in([key])]
        if not all(map(trigger_words, keys)):
            found.warn("Keys without a word of three letters were not read: their entries are found by their words.")
        if entry.get("secondary_keys"):
            found.warn("Secondary keys were not read.")
        found.memories.append(
            FoundMemory(
                tier=Memory.Tier.LONG_TERM,
                kind=Memory.Kind.FACT,
                text=text,
                importance=3 if entry.get("constant") is True else 2,
                confidence=1.0,
                triggers=tuple(_triggers(keys)),
                pinned=entry.get("constant") is True,
                hidden=entry.get("enabled") is False or "dont_activate" in decorated.values,
            )
        )
    return found


def _triggers(keys: Iterable[str]) -> list[str]:
    words = (max(trigger_words(key), key=len, default="") for key in keys)
    return list(dict.fromkeys(filter(None, words)))[:MAX_TRIGGERS]


def _replaced(text: str, names: Mapping[str, str]) -> str:
    """Return a text with names in the place of macros, which may be written in any case."""
    return resolve_card_text(text, {name: value for name, value in names.items() if value})
