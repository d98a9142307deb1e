"""The rows that a search may find: conditions in SQL for a scope."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Coalesce, TruncDate

from apps.chats.queries.keys import ChatOrKeys
from apps.common.scoping import OWN_NAMESPACE
from apps.memories.models import Memory
from apps.memories.visibility import MemoryQuerySet
from apps.memories.witnesses import is_known_to

MESSAGES = "messages"
JOURNAL = "journal"
_CHATS = "SELECT id FROM chats_chat WHERE owner_id = %(owner)s"
_CHARACTERS = "SELECT id FROM chats_character WHERE owner_id = %(owner)s"
_IN_NAMESPACE = " AND namespace = %(namespace)s"
_MESSAGES = "SELECT id FROM chats_message WHERE owner_id = %(owner)s"


@dataclass(frozen=True, kw_only=True)
class SearchFilters:
    """What narrows a search, besides the chat and the character.

    ``before`` excludes messages from this index on. ``kind`` narrows to memories of that kind, ``since`` and ``until``
    to what was said from one day to the other, inclusive, in UTC, and ``witness``, ids of the character in a group, to
    memories that it has or witnessed. ``namespace`` is what is searched without a chat: the owner's own, unless it is
    named. None, which searches all namespaces, is for a ``where`` that names them. ``where`` narrows to memories that
    meet a condition. ``instance`` narrows nothing: it is the client whose memories rank higher.
    """

    instance: str | None = None
    before: int | None = None
    kind: str | None = None
    since: dt.date | None = None
    until: dt.date | None = None
    witness: Collection[UUID] | None = None
    namespace: str | None = OWN_NAMESPACE
    where: Q | None = None


@dataclass(frozen=True)
class SearchScope(SearchFilters):
    """Rows to search: all of an owner, a chat, a character, or a chat plus its character's long-term memories."""

    owner_id: UUID
    tiers: Collection[str]
    chat: ChatOrKeys | None = None
    character: UUID | None = None

    @property
    def only_memories(self) -> bool:
        """Return whether a filter is set that neither messages nor journal entries can meet."""
        return self.kind is not None or self.where is not None

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the rows to scan."""
        return {
            "owner": self.owner_id,
            "chat": self.chat.pk if self.chat else None,
            "character": self.character,
            "before": self.before,
            "since": self.since,
            "until": self.until,
            "namespace": self.chat.namespace if self.chat else self.namespace,
        }


def namespace_condition(scope: SearchScope) -> str:
    """Return the condition of the rows that may tell how common words are: nothing else is known to an end user."""
    condition = "p.owner_id = %(owner)s"
    return condition if scope.parameters["namespace"] is None else f"{condition} AND p.namespace = %(namespace)s"


def chats_condition(scope: SearchScope) -> str:
    """Return the condition of passages in the chats of the scope, of whatever day."""
    if scope.chat:
        chats = "p.chat_id = %(chat)s"
    elif scope.character:
        chats = f"p.chat_id IN ({_CHATS} AND deleted_at IS NULL AND character_id = %(character)s)"
    else:
        in_namespace = _IN_NAMESPACE if scope.namespace is not None else ""
        chats = f"p.chat_id IN ({_CHATS} AND deleted_at IS NULL{in_namespace})"
    return f"p.owner_id = %(owner)s AND {chats}"


def passages_condition(scope: SearchScope) -> str:
    condition = chats_condition(scope)
    days = _days_condition(scope, "coalesce(sent_at, created_at)")
    return f"{condition} AND p.message_id IN ({_MESSAGES} AND {days})" if days else condition


def messages_condition(scope: SearchScope) -> str:
    """Return the condition of passages in the scope up to the turn: later ones would crowd out earlier ones."""
    condition = passages_condition(scope)
    if scope.before is None:
        return condition
    in_chat = " AND chat_id = %(chat)s" if scope.chat else ""
    return f"{condition} AND p.message_id NOT IN ({_MESSAGES}{in_chat} AND index >= %(before)s)"


def entities_condition(scope: SearchScope) -> str:
    """Return the condition of entities that a query may name: those of its namespace."""
    condition = "owner_id = %(owner)s"
    if scope.parameters["namespace"] is not None:
        condition += f" AND (chat_id IS NULL OR chat_id IN ({_CHATS}{_IN_NAMESPACE}))"
        condition += f" AND (character_id IS NULL OR character_id IN ({_CHARACTERS}{_IN_NAMESPACE}))"
    return condition


def _days_condition(scope: SearchScope, moment: str) -> str:
    """Return the condition that a moment lies within the scope's days; empty if it has none."""
    day = f"({moment} AT TIME ZONE 'UTC')::date"
    bounds = [f"{day} >= %(since)s"] if scope.since else []
    bounds += [f"{day} <= %(until)s"] if scope.until else []
    return " AND ".join(bounds)


def entries_condition(scope: SearchScope) -> str:
    """Return the condition of journal entries in the scope, whose days are those of their period."""
    conditions = ["p.owner_id = %(owner)s AND p.deleted_at IS NULL"]
    conditions += ["%(chat)s::text = ANY(p.chats)"] if scope.chat else []
    conditions += ["p.ends >= %(since)s"] if scope.since else []
    conditions += ["p.starts <= %(until)s"] if scope.until else []
    return " AND ".join(conditions)


def memories_in(scope: SearchScope) -> MemoryQuerySet:
    """Return the memories of the scope: active ones, as the chat has them if it names one.

    Without a chat, copies are among them.
    """
    rows: MemoryQuerySet = Memory.objects.for_owner(scope.owner_id).filter(tier__in=scope.tiers, hidden=False)
    if scope.chat and scope.character:
        rows = rows.present().active_in(scope.chat, scope.character).carried_to(scope.chat)
    elif scope.chat:
        rows = rows.present().learnt_in(scope.chat).filter(state_here=Memory.State.ACTIVE)
    else:
        rows = rows.active()
        if scope.character:
            rows = rows.filter(character=scope.character)
        elif scope.namespace is not None:
            rows = rows.in_namespace(scope.namespace)
    if scope.where is not None:
        rows = rows.filter(scope.where)
    if scope.witness is not None:
        rows = rows.filter(is_known_to(scope.character, list(scope.witness)))
    if scope.kind:
        rows = rows.filter(kind=scope.kind)
    if scope.since or scope.until:
        moment = Coalesce("valid_from__sent_at", "created_at")
        rows = rows.alias(day=TruncDate(moment, tzinfo=dt.UTC))
        rows = rows.filter(day__gte=scope.since) if scope.since else rows
        rows = rows.filter(day__lte=scope.until) if scope.until else rows
    return rows
