"""The fields of a memory that a client may filter by, and what their operators mean."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, F, Func, JSONField, Q, Value
from django.db.models.functions import Cast

from apps.memories.conditions import Field, Filter, Path, list_of, moment_of, refused, text_of, texts_of
from apps.memories.models import Memory

METADATA = "metadata."
MAX_KEYS = 10  # of a path within metadata
MAX_NUMBER = 10**9
ORDERED = ("gt", "gte", "lt", "lte")


def compares_json(keys: list[str], operator: str, value: Any) -> Q:
    """Return whether a value within metadata compares with another one: see the function of the migration 0012."""
    within = Func(F("metadata"), *map(Value, keys), function="jsonb_extract_path")
    other = Cast(Value(json.dumps(value)), JSONField())
    return Q(Func(within, Value(operator), other, function="json_compares", output_field=BooleanField()))


def metadata_field(keys: list[str]) -> Field:
    """Return the operators of a value within metadata. What lacks it differs from any value."""

    def compared(operator: str, value: Any, path: Path) -> Q:
        if operator in ORDERED and not isinstance(value, int | float | str):
            raise refused(path, "It must be a number or a text.")
        return compares_json(keys, operator, value)

    def one_of(value: Any, path: Path) -> Q:
        within = Func(F("metadata"), *map(Value, keys), function="jsonb_extract_path")
        values = Cast(Value(json.dumps(list_of(value, path))), JSONField())
        return Q(
            Func(
                within,
                values,
                template="coalesce(%(expressions)s)), false)",
                arg_joiner=" IN (SELECT jsonb_array_elements(",
                output_field=BooleanField(),
            )
        )

    fields: dict[str, Any] = {name: partial(compared, name) for name in ("eq", *ORDERED, "contains")}
    fields |= {"ne": lambda value, path: ~compares_json(keys, "eq", value), "in": one_of}
    return fields | {"icontains": lambda value, path: compares_json(keys, "icontains", text_of(value, path))}


def text_field(column: str) -> Field:
    """Return the operators of a column of text."""

    def compared(lookup: str, value: Any, path: Path) -> Q:
        return Q(**{f"{column}{lookup}": text_of(value, path)})

    return {
        "eq": partial(compared, ""),
        "ne": lambda value, path: ~compared("", value, path),
        "in": lambda value, path: Q(**{f"{column}__in": texts_of(value, path)}),
        "contains": partial(compared, "__contains"),
        "icontains": partial(compared, "__icontains"),
    }


def moment_field(column: str, *, ends: bool = False) -> Field:
    """Return the operators of a column of moments. A date stands for its whole day in UTC.

    ``ends``: the column has the first moment after a time, and the last one of that time is compared.
    """
    from_, before = ("gt", "lte") if ends else ("gte", "lt")

    def compared(lookup: str, place: int, value: Any, path: Path) -> Q:
        return Q(**{f"{column}__{lookup}": moment_of(value, path)[place]})

    def equals(value: Any, path: Path) -> Q:
        if value is None:
            return Q(**{column: None})
        first, after = moment_of(value, path)
        return Q(**{f"{column}__{from_}": first, f"{column}__{before}": after})

    return {
        "eq": equals,
        "ne": lambda value, path: ~equals(value, path),
        "gt": partial(compared, from_, 1),
        "gte": partial(compared, from_, 0),
        "lt": partial(compared, before, 0),
        "lte": partial(compared, before, 1),
    }


def number_field(column: str) -> Field:
    """Return the operators of a column of numbers."""

    def number(value: Any, path: Path) -> int | float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refused(path, "It must be a number.")
        if not abs(value) <= MAX_NUMBER:
            raise refused(path, f"It must be between -{MAX_NUMBER:,} and {MAX_NUMBER:,}.")
        return value

    def compared(operator: str, value: Any, path: Path) -> Q:
        return Q(**{f"{column}__{operator}": number(value, path)})

    fields: dict[str, Any] = {name: partial(compared, name) for name in ORDERED}
    fields |= {"eq": partial(compared, "exact"), "ne": lambda value, path: ~compared("exact", value, path)}
    in_list = lambda value, path: Q(**{f"{column}__in": [number(one, path) for one in list_of(value, path)]})  # noqa: E731
    return fields | {"in": in_list}


def chosen_field(column: str, read: Callable[[Any, Path], Any]) -> Field:
    """Return the operators of a column whose values ``read`` checks."""

    def equals(value: Any, path: Path) -> Q:
        return Q(**{column: read(value, path)})

    return {
        "eq": equals,
        "ne": lambda value, path: ~equals(value, path),
        "in": lambda value, path: Q(**{f"{column}__in": [read(one, path) for one in list_of(value, path)]}),
    }


def tags_field() -> Field:
    """Return the operators of tags: any or all of a list, or one of them."""
    return {
        "any": lambda value, path: Q(tags__overlap=texts_of(value, path)),
        "all": lambda value, path: Q(tags__contains=texts_of(value, path)),
        "in": lambda value, path: Q(tags__overlap=texts_of(value, path)),
        "contains": lambda value, path: Q(tags__contains=[text_of(value, path)]),
    }


def id_of(value: Any, path: Path) -> UUID | None:
    """Return an id, or None for null. Raise Invalid."""
    if value is None:
        return None
    try:
        return UUID(text_of(value, path))
    except ValueError:
        raise refused(path, "It must be an id.") from None


def choice_of(choices: list[str], value: Any, path: Path) -> str:
    """Return one of the choices. Raise Invalid."""
    if value not in choices:
        raise refused(path, f"It must be one of: {', '.join(choices)}.")
    return str(value)


def flag_of(value: Any, path: Path) -> bool:
    """Return true or false. Raise Invalid."""
    if not isinstance(value, bool):
        raise refused(path, "It must be true or false.")
    return value


FIELDS: dict[str, Field] = {
    "id": chosen_field("pk", id_of),
    "chat": chosen_field("chat", id_of),
    "character": chosen_field("character", id_of),
    "tier": chosen_field("tier", partial(choice_of, Memory.Tier.values)),
    "kind": chosen_field("kind", partial(choice_of, Memory.Kind.values)),
    "text": text_field("text"),
    "tags": tags_field(),
    "importance": number_field("importance"),
    "confidence": number_field("confidence"),
    "pinned": chosen_field("pinned", flag_of),
    "created_at": moment_field("created_at"),
    "updated_at": moment_field("updated_at"),
    "expires_at": moment_field("expires_at"),
}


def field_of(name: str) -> Field | None:
    """Return the operators of a field, or None if there is no such field."""
    if name.startswith(METADATA):
        keys = name.removeprefix(METADATA).split(".")
        return metadata_field(keys) if all(keys) and len(keys) <= MAX_KEYS else None
    return FIELDS.get(name)


MEMORY_FILTER = Filter(field_of, [*FIELDS, f"{METADATA}KEY"])
