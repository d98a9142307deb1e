"""Read, check and change the data that programs store with a message: one namespace each in a swipe's ``extra``."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.conf import settings

from apps.common.problems import FieldError, Invalid, Missing, TooLarge, pointer_of

RECAP_NAMESPACE = "auto_recap_memory"
LOCI_NAMESPACE = "loci"  # `witnesses` and `leave_out`, told by front ends; `partial` and `tools`, stored with replies
PREVIOUS: Literal["previous"] = "previous"  # the swipe before the active one
SwipeName = int | Literal["previous"] | None
PARTIAL_KEY = "partial"  # true while a reply is incomplete: it is still being written, or ended early
MAX_NAMESPACE_LENGTH, MAX_KEY_LENGTH = 96, 255  # characters


@dataclass(frozen=True)
class ValueType:
    """A type of value: ``accepts`` checks a value, ``description`` names the type in error messages."""

    description: str
    accepts: Callable[[Any], bool]


TEXT = ValueType("a string or null", lambda value: value is None or isinstance(value, str))
HASH = ValueType("a string", lambda value: isinstance(value, str))
FLAG = ValueType("true or false", lambda value: isinstance(value, bool))
INDEX = ValueType(
    "a whole number of at least 0", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0
)
OBJECT = ValueType("an object", lambda value: isinstance(value, dict))
VERSIONS = ValueType(
    "a list of objects", lambda value: isinstance(value, list) and all(isinstance(item, dict) for item in value)
)

# The types of keys by namespace. Other keys are not checked.
KEY_TYPES = {
    LOCI_NAMESPACE: {"leave_out": FLAG, PARTIAL_KEY: FLAG},
    RECAP_NAMESPACE: {
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
    },
}


def namespace_of(extra: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """Return the data in ``namespace``, empty if there is none or it is not an object."""
    data = extra.get(namespace)
    return data if isinstance(data, dict) else {}


def swipe_position(swipe: SwipeName, active: int, count: int) -> int:
    """Return the position of the swipe that a request names, of ``count``. Raise Missing."""
    position = active if swipe is None else active - 1 if swipe == PREVIOUS else swipe
    if not 0 <= position < count:
        raise Missing("The message has no such swipe.")
    return position


def ends_scene(extra: Mapping[str, Any]) -> bool:
    """Return whether a scene ends with the message that has this ``extra``."""
    return namespace_of(extra, RECAP_NAMESPACE).get("scene_break") is True


def is_left_out(extra: Mapping[str, Any]) -> bool:
    """Return whether the message that has this ``extra`` is left out of memory."""
    return namespace_of(extra, LOCI_NAMESPACE).get("leave_out") is True


def is_partial(extra: Mapping[str, Any]) -> bool:
    """Return whether the text of the swipe that has this ``extra`` is an incomplete reply."""
    return namespace_of(extra, LOCI_NAMESPACE).get(PARTIAL_KEY) is True


def leave_out_change(leave_out: bool) -> "DataChange":
    """Return the change that leaves a message out of memory, or takes it back."""
    if leave_out:
        return DataChange(LOCI_NAMESPACE, {"leave_out": True})
    return DataChange(LOCI_NAMESPACE, clear=frozenset({"leave_out"}))


def partial_change(is_partial: bool) -> "DataChange":
    """Return the change that marks a reply as incomplete, or as complete."""
    if is_partial:
        return DataChange(LOCI_NAMESPACE, {PARTIAL_KEY: True})
    return DataChange(LOCI_NAMESPACE, clear=frozenset({PARTIAL_KEY}))


def check_values(namespace: str, values: Mapping[str, Any], pointer: str) -> None:
    """Raise Invalid if a known key has a value of another type. ``pointer`` is the JSON pointer of the values."""
    types = KEY_TYPES.get(namespace, {})
    errors = [
        FieldError(f"{pointer}/{key}", f"It must be {types[key].description}.")
        for key, value in values.items()
        if key in types and not types[key].accepts(value)
    ]
    if errors:
        raise Invalid(errors[0].detail, errors=errors)


def check_size(namespace: str, data: Any, pointer: str) -> None:
    """Raise TooLarge if a namespace would hold more than MESSAGE_DATA_MAX_BYTES of JSON."""
    size = len(json.dumps(data, ensure_ascii=False).encode())
    if size > settings.MESSAGE_DATA_MAX_BYTES:
        reason = f"The namespace {namespace} would hold {size} bytes. The limit is {settings.MESSAGE_DATA_MAX_BYTES}."
        raise TooLarge(reason, errors=[FieldError(pointer, reason)])


def check_extra(extra: Mapping[str, Any], changes: Mapping[str, Any], pointer: str) -> None:
    """Check the namespaces of ``extra`` that ``changes`` were merged into. Raise Invalid, TooLarge."""
    for namespace, patch in changes.items():
        if isinstance(patch, dict):
            at = pointer + pointer_of([namespace])
            check_values(namespace, {key: value for key, value in patch.items() if value is not None}, at)
            check_size(namespace, extra.get(namespace), at)


def check_namespaces(extra: Mapping[str, Any], pointer: str) -> None:
    """Check the namespaces of an ``extra`` that is stored as it is: a null is a value. Raise Invalid, TooLarge."""
    for namespace, data in extra.items():
        if isinstance(data, dict):
            at = pointer + pointer_of([namespace])
            check_values(namespace, data, at)
            check_size(namespace, data, at)


@dataclass(frozen=True)
class DataChange:
    """A change of a namespace: the ``values`` to set, which may be null, and the keys to delete in ``clear``.

    ``pointer`` is the JSON pointer of the values in the request. ``swipe`` is the position of the swipe to change, or
    PREVIOUS; None for the active one. With ``every_swipe``, all are changed.
    """

    namespace: str
    values: Mapping[str, Any] = field(default_factory=dict)
    clear: frozenset[str] = frozenset()
    pointer: str = "/data"
    swipe: SwipeName = None
    every_swipe: bool = False

    def apply(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``extra`` after the change. Raise Invalid, TooLarge."""
        known = namespace_of(extra, self.namespace)
        data = {key: value for key, value in (known | dict(self.values)).items() if key not in self.clear}
        check_values(self.namespace, self.values, self.pointer)
        check_size(self.namespace, data, self.pointer)
        if data:
            return {**extra, self.namespace: data}
        return {key: value for key, value in extra.items() if key != self.namespace}
