"""Convert the messages of Marinara's chat files, which look like SillyTavern's but differ in three fields.

- `is_system` marks a message of the role "system"; `extra.hiddenFromAI` excludes a message from the prompt.
- `swipe_id` is not a position: it refers to the `index` of a swipe in `extra.marinara_swipes`, which may have gaps.
- The reasoning is a field of the message, not of `extra`.
"""

from collections.abc import Mapping
from typing import Any

from apps.chats.repairs import as_integer

# The keys of the reasoning in different versions of Marinara.
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")


def is_line(line: Mapping[str, Any]) -> bool:
    """Return whether a message was written by Marinara."""
    extra = line.get("extra")
    return isinstance(extra, dict) and bool({"marinara_role", "marinara_swipes"} & extra.keys())


def to_sillytavern(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message as SillyTavern would have written it."""
    extra = dict(line["extra"])
    role = extra.get("marinara_role", line.get("role"))
    reasoning = next((line[key] for key in _REASONING_KEYS if isinstance(line.get(key), str) and line[key]), None)
    if reasoning is not None:
        extra.setdefault("reasoning", reasoning)
    is_user = role == "user" if isinstance(role, str) else line.get("is_user")
    return {**line, **_swipes(line), "is_user": is_user, "is_system": extra.get("hiddenFromAI") is True, "extra": extra}


def _swipes(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return `swipe_info` and, if known, the position of the active swipe as `swipe_id`."""
    swipes = line["extra"].get("marinara_swipes")
    if not isinstance(swipes, list) or not swipes or not all(isinstance(swipe, dict) for swipe in swipes):
        return {}
    numbers = [as_integer(swipe.get("index")) for swipe in swipes]
    swipe_id = as_integer(line.get("swipe_id"))
    infos = [{"send_date": swipe.get("created_at"), "extra": swipe.get("extra")} for swipe in swipes]
    return {"swipe_info": infos} | ({"swipe_id": numbers.index(swipe_id)} if swipe_id in numbers else {})
