"""Read memories as mem0's clients ask for them."""

import ast
import json
from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Max, Min, Q

from apps.common.documents.strict_json import JSONError, loads, storage_errors
from apps.common.problems import Invalid
from apps.common.scoping import Owner
from apps.mem0.filters import ENTITIES, condition_of, only_user
from apps.mem0.ids import Ids
from apps.mem0.models import Mem0Chat
from apps.memories.models import Memory
from apps.memories.queries.namespaces import namespaces_of
from apps.memories.visibility import MemoryQuerySet
from apps.search.service import SearchQuery, search

TIERS = tuple(Memory.Tier.values)


def filters_of(body: Mapping[str, Any]) -> Any:
    """Return the filters of a request, including the ids that older clients send as separate fields."""
    beside = [{name: body[name]} for name in ENTITIES if body.get(name)]
    filters = body.get("filters") or None
    if isinstance(filters, str):
        filters = _parsed(filters)
    if not beside:
        return filters or {}
    return {"AND": [*([filters] if filters else []), *beside]}


def _parsed(text: str) -> Any:
    """Return the filters of a query string: JSON, or Python's notation, which the client makes of a dictionary."""
    text = text[:20_000]  # Python's own parser takes much memory for long texts, and fails on deep ones
    try:
        try:
            document = loads(text)
        except JSONError:
            document = loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise Invalid.at("/filters", "It must be JSON.") from None
    if errors := list(storage_errors(document)):
        raise Invalid(errors[0].detail, errors=errors)
    return document


def where(body: Mapping[str, Any]) -> Q:
    """Return the condition of a request's filters, dates and categories. Raise Invalid."""
    condition = condition_of(filters_of(body), ("filters",))
    if categories := body.get("categories"):
        condition &= Q(tags__overlap=categories)
    if start := body.get("start_date"):
        condition &= Q(created_at__gte=start)
    if end := body.get("end_date"):
        condition &= Q(created_at__lt=end)
    return condition


def listed(owner: Owner, body: Mapping[str, Any]) -> MemoryQuerySet:
    """Return the active memories that a request asks for, newest first."""
    rows: MemoryQuerySet = Memory.objects.for_owner(owner).select_related("chat__mem0")
    rows = rows.undeleted() if body.get("show_expired") else rows.present()
    rows = rows.filter(where(body), state=Memory.State.ACTIVE, hidden=False).defer("embedding", "lexemes")
    return rows.order_by("-pk")


def found(owner: Owner, body: Mapping[str, Any]) -> list[tuple[Memory, float]]:
    """Return the memories that a search finds with their scores, best first."""
    condition = where(body)  # refuses what is no filter, before its user is sought
    query = SearchQuery(
        body["query"].strip(),
        tiers=TIERS,
        limit=body.get("limit") or body["top_k"],
        min_score=body["threshold"],
        namespace=only_user(filters_of(body)),
        where=condition,
    )
    results = [(result.memory, result.score) for result in search(owner, query).results if result.memory]
    places = {memory.pk: memory for memory in _with_places(owner, [memory for memory, _ in results])}
    return [(places[memory.pk], score) for memory, score in results if memory.pk in places]


def _with_places(owner: Owner, memories: list[Memory]) -> MemoryQuerySet:
    rows: MemoryQuerySet = Memory.objects.for_owner(owner).filter(pk__in=[memory.pk for memory in memories])
    return rows.select_related("chat__mem0").defer("embedding", "lexemes")


def entities(owner: Owner, namespace: str | None = None) -> list[dict[str, Any]]:
    """Return users, agents, apps and runs, of one namespace if it is named, each with the number of its memories."""
    bound = {} if namespace is None else {"namespace": namespace}
    users = [
        {"id": row.namespace, "name": row.namespace, "type": "user", "total_memories": row.memories,
         "created_at": row.created_at, "updated_at": row.updated_at}
        for row in namespaces_of(owner, named=namespace)
    ]  # fmt: skip
    is_there = Q(chat__memories__deleted_at=None, chat__memories__in_bin=False, chat__memories__isnull=False)
    others = [
        {"id": row[kind], "name": row[kind], "type": kind, **{name: row[name] for name in _COUNTED}}
        for kind in Ids._fields[1:]
        for row in Mem0Chat.objects.for_owner(owner)
        .exclude(**{kind: ""})
        .filter(chat__deleted_at=None, **bound)
        .values(kind)
        .annotate(
            total_memories=Count("chat__memories", filter=is_there),
            created_at=Min("created_at"),
            updated_at=Max("chat__updated_at"),
        )
        .order_by(kind)
    ]
    return [*users, *others]


_COUNTED = ("total_memories", "created_at", "updated_at")
