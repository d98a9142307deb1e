"""Data that programs keep with a message, a namespace each, in the ``extra`` of the swipe that it belongs to."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from apps.common.problems import FieldError, Invalid, TooLarge, pointer_of

RECAP_NAMESPACE = "auto_recap_memory"


@dataclass(frozen=True)
class Kind:
    """What a key may hold: ``words`` say it, ``accepts`` tells."""

    words: str
    accepts: Callable[[Any], bool]


TEXT = Kind("a string or null", lambda value: value is None or isinstance(value, str))
HASH = Kind("a string", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
INDEX = Kind(
    "a whole number from 0 on", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0
)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
VERSIONS = Kind(
    "a list of objects", lambda value: isinstance(value, list) and all(isinstance(item, dict) for item in value)
)

# What recaps and scene breaks keep with a message. Other keys may hold anything.
RECAP_KEYS = {
    "memory": TEXT,
    "include": TEXT,
    "exclude": FLAG,
    "error": TEXT,
    "reasoning": TEXT,
    "prefill": TEXT,
    "edited": FLAG,
    "scene_break": FLAG,
    "scene_break_visible": FLAG,
    "scene_break_name": TEXT,
    "scene_break_collapsed": FLAG,
    "scene_recap_memory": TEXT,
    "scene_recap_versions": VERSIONS,
    "scene_recap_current_index": INDEX,
    "scene_recap_hash": HASH,
    "scene_recap_metadata": OBJECT,
    "scene_recap_include": FLAG,
    "auto_scene_break_checked": FLAG,
    "is_auto_recap_system_memory": FLAG,
}


def namespace_of(extra: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The data in ``namespace``; where nothing, or no object, is kept there: empty."""
    data = extra.get(namespace)
    return data if isinstance(data, dict) else {}


def ends_scene(extra: Mapping[str, Any]) -> bool:
    """Whether a scene ends with the message that has this ``extra``."""
    return namespace_of(extra, RECAP_NAMESPACE).get("scene_break") is True


def check_values(namespace: str, values: Mapping[str, Any], at: str) -> None:
    """Raises Invalid where a key that we know has a value of another type; ``at`` points at the values."""
    kinds = RECAP_KEYS if namespace == RECAP_NAMESPACE else {}
    errors = [
        FieldError(f"{at}/{key}", f"It must be {kinds[key].words}.")
        for key, value in values.items()
        if key in kinds and not kinds[key].accepts(value)
    ]
    if errors:
        raise Invalid(errors[0].detail, errors=errors)


def check_size(namespace: str, data: Any, at: str) -> None:
    """Raises TooLarge where a namespace would hold more than MESSAGE_DATA_MAX_BYTES of JSON."""
    size = len(json.dumps(data, ensure_ascii=False).encode())
    if size > settings.MESSAGE_DATA_MAX_BYTES:
        reason = f"The namespace {namespace} would hold {size} bytes. The limit is {settings.MESSAGE_DATA_MAX_BYTES}."
        raise TooLarge(reason, errors=[FieldError(at, reason)])


def check_extra(extra: Mapping[str, Any], changes: Mapping[str, Any], at: str) -> None:
    """Check an ``extra`` that ``changes`` were merged into. Raises Invalid, TooLarge."""
    for namespace, patch in changes.items():
        if isinstance(patch, dict):
            pointer = at + pointer_of([namespace])
            check_values(namespace, {key: value for key, value in patch.items() if value is not None}, pointer)
            check_size(namespace, extra.get(namespace), pointer)
