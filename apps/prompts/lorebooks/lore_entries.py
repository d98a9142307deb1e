"""Prepare the entries of a lorebook for one prompt: their macros, and what their decorators and probability say."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.chats.macros import Draws, hidden_keys_in, resolve_card_text, resolve_choices
from apps.prompts.lorebooks.decorators import DecoratedText, read_decorators
from apps.prompts.lorebooks.lore_keys import LoreEntry, extra_of, is_usable

# SillyTavern's numbers of positions: before and after the description, around the author's note, at a depth of the
# conversation, around the examples. An entry at any other has no place.
BEFORE, AFTER, BEFORE_NOTE, AFTER_NOTE, AT_DEPTH, BEFORE_EXAMPLES, AFTER_EXAMPLES = range(7)
POSITION_FIELDS = ("before_char", "after_char")
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class LoreSetting:
    """The chat for which entries are sought: values of macros, seeds of what is drawn, the number of its replies."""

    names: Mapping[str, str] = field(default_factory=dict)
    draws: Draws = field(default_factory=Draws)
    count_replies: Callable[[], int] = lambda: 0


NO_SETTING = LoreSetting()  # of no chat: without names


def prepared(entry: LoreEntry, setting: LoreSetting) -> LoreEntry | None:
    """Return the entry as its decorators change it, with macros replaced in keys; None if it can't match.

    Names stay macros in the content. ``scanned`` is what other entries find in it, with its hidden keys.
    """
    decorated = read_decorators(str(entry.get("content", "")))
    content = resolve_choices(decorated.text, setting.draws)
    changed = {**entry, "content": content, "position": _position(entry, decorated)}
    if changed["position"] is None or not is_usable(changed) or not _is_in_turn(decorated, setting):
        return None
    if not _is_drawn(entry, setting.draws) or ("dont_activate" in decorated.values and not _is_forced(decorated)):
        return None

    def named(keys: Any) -> list[str]:
        return [resolve_card_text(str(key), setting.names) for key in keys or []]

    hidden = hidden_keys_in(decorated.text)
    return {
        **changed,
        "keys": named(entry.get("keys")),
        "secondary_keys": named(entry.get("secondary_keys")),
        "required_keys": [named(keys) for keys in decorated.keys("additional_keys")],
        "excluded_keys": [key for keys in decorated.keys("exclude_keys") for key in named(keys)],
        "constant": bool(entry.get("constant")) or _is_forced(decorated),
        "scanned": "\n".join([resolve_card_text(content, setting.names), *hidden]),
        "goes_first": "ignore_on_max_context" in decorated.values,
        "extensions": _extensions(entry, decorated),
    }


def _is_forced(decorated: DecoratedText) -> bool:
    return "activate" in decorated.values


def _position(entry: LoreEntry, decorated: DecoratedText) -> int | None:
    """Return the entry's position, or None if it has one that the prompt doesn't have.

    The specification's field tells before and after; only SillyTavern's number has the others.
    """
    if named := decorated.values.get("position"):
        return BEFORE if named[-1] == "before_desc" else AFTER
    if "depth" in decorated.values:
        return AT_DEPTH
    position = extra_of(entry, "position")
    if position not in (None, "", BEFORE, AFTER):
        return next((place for place in range(7) if place == position), None)
    return BEFORE if entry.get("position") == POSITION_FIELDS[BEFORE] else AFTER


def _is_in_turn(decorated: DecoratedText, setting: LoreSetting) -> bool:
    """Return whether the number of the chat's replies is one at which the entry may match."""
    after, every = decorated.number("activate_only_after"), decorated.number("activate_only_every")
    if after is None and not every:
        return True
    count = setting.count_replies()
    return count >= (after or 0) and (not every or count % every == 0)


def _is_drawn(entry: LoreEntry, draws: Draws) -> bool:
    """Return whether an entry with a probability, in percent, is in this prompt."""
    probability = extra_of(entry, "probability")
    if extra_of(entry, "useProbability") is False or not isinstance(probability, int | float) or probability >= 100:
        return True
    seed = f"{draws.state}:{entry.get('id')}:{entry.get('content')}"
    return random.Random(seed).random() * 100 < probability  # noqa: S311 - no secret


def _extensions(entry: LoreEntry, decorated: DecoratedText) -> dict[str, Any]:
    extensions = entry.get("extensions")
    changed = dict(extensions) if isinstance(extensions, dict) else {}
    changed |= {name: decorated.number(name) for name in ("depth", "scan_depth") if name in decorated.values}
    if role := decorated.values.get("role"):
        changed["role"] = ROLES.index(role[-1])
    return changed
