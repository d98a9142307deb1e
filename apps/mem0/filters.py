"""mem0's filters: the same conditions as the API's, with mem0's names, and ids in place of namespaces and chats."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.models import Q

from apps.common.problems import Invalid
from apps.memories.conditions import Field, Filter, Joiners, Operator, Path, list_of, refused, text_of, texts_of
from apps.memories.memory_filters import id_of, metadata_field, moment_field, tags_field, text_field

ANY = "*"
USER = "user_id"
ENTITIES = {
    USER: "namespace",
    "agent_id": "chat__mem0__agent",
    "app_id": "chat__mem0__app",
    "run_id": "chat__mem0__run",
}
WITHOUT_USER = {USER: None}
UPPER_CASE = Joiners("AND", "OR", "NOT")
NO_JOINERS = Joiners("", "", "")


def _entity_field(column: str) -> Field:
    """Return the operators of an id. Null is none, and ``*`` is any."""

    def equals(value: Any, path: Path) -> Q:
        if value == ANY:
            return Q(**{f"{column}__gt": ""})
        return Q(**{column: "" if value is None else text_of(value, path)})

    return {
        "eq": equals,
        "ne": lambda value, path: ~equals(value, path),
        "in": lambda value, path: Q(**{f"{column}__in": texts_of(value, path)}),
    }


class _Metadata(Mapping[str, Operator]):
    """The operators of ``metadata``, which are its keys: each has a value, or operators of its own."""

    def __getitem__(self, key: str) -> Operator:
        return partial(self._compared, key)

    def __contains__(self, key: object) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(("KEY",))

    def __len__(self) -> int:
        return 1

    def _compared(self, key: str, value: Any, path: Path) -> Q:
        if path[-1] != key:
            raise refused(path, "It must be an object with keys of the metadata.")
        return Filter(lambda name: metadata_field([key]), [key], NO_JOINERS).read({key: value}, path[:-1])


def _ids(value: Any, path: Path) -> Q:
    return Q(pk__in=[id_of(one, path) for one in list_of(value, path)])


FIELDS: dict[str, Field] = {
    **{name: _entity_field(column) for name, column in ENTITIES.items()},
    "created_at": moment_field("created_at"),
    "updated_at": moment_field("updated_at"),
    "timestamp": moment_field("created_at"),
    "expiration_date": moment_field("expires_at", ends=True),
    "categories": {**tags_field(), "eq": lambda value, path: Q(tags__contains=[text_of(value, path)])},
    "keywords": text_field("text"),
    "metadata": _Metadata(),
    "memory_ids": {"eq": _ids, "in": _ids},
}
MEM0_FILTER = Filter(FIELDS.get, list(FIELDS), UPPER_CASE)


def condition_of(document: Any, path: Path) -> Q:
    """Return the condition of mem0's filters. Raise Invalid for what is unknown, or if they name no id at all.

    What names no user is about what was added without one: nothing crosses from one user to others that aren't named.
    """
    if not isinstance(document, dict) or not _names_entity(document):
        raise Invalid.at("/filters", f"Name at least one of {', '.join(ENTITIES)}.")
    bound, is_bound = _bind(document, within=False)
    return MEM0_FILTER.read(bound if is_bound else {"AND": [bound, WITHOUT_USER]}, path)


def only_user(document: Any) -> str | None:
    """Return the user if the filters are about one alone, whose rows are then searched and no others; else None."""
    parts = [document, *document["AND"]] if isinstance(document.get("AND"), list) else [document]
    named = [part[USER] for part in parts if isinstance(part, dict) and isinstance(part.get(USER), str)]
    return next((name for name in named if name != ANY), None)


def _names_entity(document: Any) -> bool:
    if isinstance(document, list):
        return any(map(_names_entity, document))
    if not isinstance(document, dict):
        return False
    return any(key in ENTITIES or (key in UPPER_CASE and _names_entity(value)) for key, value in document.items())


def _bind(document: Any, *, within: bool) -> tuple[Any, bool]:
    """Return a document, and whether all that meets it is of users that it names.

    Of alternatives of which only some name users, the others are about what has none. ``within``: conditions beside
    the document name users already.
    """
    if not isinstance(document, dict):
        return document, True  # it is refused when it is read
    is_bound = within or _names_users(document)
    parts = dict(document)
    if isinstance(every := document.get("AND"), list):
        is_bound |= any(map(_names_users, every))
        pairs = [_bind(part, within=is_bound) for part in every]
        parts["AND"], is_bound = [part for part, _ in pairs], is_bound or any(named for _, named in pairs)
    if isinstance(some := document.get("OR"), list) and not is_bound:
        pairs = [_bind(part, within=False) for part in some]
        is_bound = any(named for _, named in pairs)
        parts["OR"] = [part if named or not is_bound else {"AND": [part, WITHOUT_USER]} for part, named in pairs]
    return parts, is_bound


def _names_users(document: Any) -> bool:
    """Return whether a document says itself which users it is about, and not only which it isn't."""
    if not isinstance(document, dict) or USER not in document:
        return False
    users = document[USER]
    return not isinstance(users, dict) or bool(users.keys() & {"eq", "in"})
