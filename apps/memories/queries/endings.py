"""Read which arcs, knowledge and relationships other stories have ended."""

from collections.abc import Iterable
from typing import TypeVar

from django.db.models import Exists, OuterRef, QuerySet

from apps.chats.queries.keys import ChatOrKeys
from apps.common.scoping import Owner
from apps.memories.models import Arc, Ending, Knowledge, Relationship
from apps.memories.visibility import is_remembered, is_seen_in

Row = TypeVar("Row", Arc, Relationship)


def endings_seen_in(chat: ChatOrKeys) -> QuerySet[Ending]:
    """Return the endings made in the chat or in other stories, but not in other branches of the same story."""
    rows: QuerySet[Ending] = Ending.objects.for_owner(chat.owner_id).filter(is_seen_in(chat))
    return rows


def all_endings(owner: Owner) -> QuerySet[Ending]:
    """Return the endings made in any chat that isn't deleted, or whose character keeps what was learnt in it."""
    rows: QuerySet[Ending] = Ending.objects.for_owner(owner).filter(is_remembered())
    return rows


def has_ended(model: type[Arc] | type[Knowledge] | type[Relationship], endings: QuerySet[Ending]) -> Exists:
    """Return the condition of entries that one of ``endings`` ended."""
    return Exists(endings.filter(**{model.ending_field(): OuterRef("pk")}))


def with_endings(rows: Iterable[Row], endings: QuerySet[Ending]) -> list[Row]:
    """Give entries in memory the state and the end that the first of ``endings`` gives them; own ends come first."""
    entries = list(rows)
    if not entries:
        return entries
    life = entries[0].life
    layer = entries[0].ending_field()
    found = endings.filter(**{f"{layer}__in": [entry.pk for entry in entries]}).select_related("message__chat")
    by_entry = {getattr(ending, f"{layer}_id"): ending for ending in found.order_by("-pk")}
    for entry in entries:
        ending = by_entry.get(entry.pk)
        if ending is not None and entry.state == life.holds:
            entry.state, entry.until = ending.state, ending.message
            entry.updated_at = max(entry.updated_at, ending.created_at)
            if life.outcome:
                setattr(entry, life.outcome, getattr(entry, life.outcome) or ending.summary)
    return entries
