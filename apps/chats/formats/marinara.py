"""Marinara's lines: SillyTavern's, but for three things that look alike and mean something else.

`is_system` is a role and `extra.hiddenFromAI` hides; `swipe_id` is the number that a swipe has in
`extra.marinara_swipes`, where numbers may be missing; and reasoning stands beside `extra`.
"""

from collections.abc import Mapping
from typing import Any

from apps.chats.formats.repairs import as_integer

_REASONING = ("reasoning_content", "reasoning", "thinking")


def is_line(line: Mapping[str, Any]) -> bool:
    """Whether a message was written by Marinara."""
    extra = line.get("extra")
    return isinstance(extra, dict) and bool({"marinara_role", "marinara_swipes"} & extra.keys())


def in_our_terms(line: Mapping[str, Any]) -> dict[str, Any]:
    """The message as SillyTavern would have written it."""
    extra = dict(line["extra"])
    role = extra.get("marinara_role", line.get("role"))
    reasoning = next((line[key] for key in _REASONING if isinstance(line.get(key), str) and line[key]), None)
    if reasoning is not None:
        extra.setdefault("reasoning", reasoning)
    is_user = role == "user" if isinstance(role, str) else line.get("is_user")
    return {**line, **_swipes(line), "is_user": is_user, "is_system": extra.get("hiddenFromAI") is True, "extra": extra}


def _swipes(line: Mapping[str, Any]) -> dict[str, Any]:
    """The index of the active swipe, and what is known of each, where there is a list of them."""
    own = line["extra"].get("marinara_swipes")
    if not isinstance(own, list) or not own or not all(isinstance(swipe, dict) for swipe in own):
        return {}
    numbers = [as_integer(swipe.get("index")) for swipe in own]
    swipe_id = as_integer(line.get("swipe_id"))
    infos = [{"send_date": swipe.get("created_at"), "extra": swipe.get("extra")} for swipe in own]
    return {"swipe_info": infos} | ({"swipe_id": numbers.index(swipe_id)} if swipe_id in numbers else {})
