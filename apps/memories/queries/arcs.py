"""Read arcs."""

import datetime as dt
from collections.abc import Iterable

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat, Message
from apps.chats.queries.keys import ChatOrKeys, keys_of
from apps.common.database.compiled_queries import CompiledQuery
from apps.memories.models import Arc
from apps.memories.queries.endings import all_endings, endings_seen_in, has_ended, with_endings
from apps.memories.visibility import is_remembered, is_seen_in


def arcs_in(chat: Chat) -> list[Arc]:
    """Return the chat's arcs and its character's persistent ones, open ones first, without retired ones.

    Those that another story resolved are returned as the chat sees them.
    """
    return _open_first(with_endings(ARC_ROWS.rows(keys_of(chat)), endings_seen_in(chat)))


def open_arcs_in(chat: Chat) -> QuerySet[Arc]:
    """Return the arcs of ``arcs_in`` that are open for the chat."""
    return arc_rows_in(chat).filter(~has_ended(Arc, endings_seen_in(chat)), state=Arc.State.OPEN)


def resolved_arcs_of(chat: Chat, character: Character | None) -> list[Arc]:
    """Return the resolved arcs of the chat, and of the character's other stories, oldest first."""
    visible = Q(chat=chat)
    if character is not None:
        visible |= Q(character=character) & is_seen_in(chat)
    rows = _without_retired(Arc.objects.for_owner(chat.owner_id).filter(visible))
    resolved = [arc for arc in with_endings(rows, endings_seen_in(chat)) if arc.state == Arc.State.RESOLVED]
    return sorted(resolved, key=lambda arc: (_sent_at(arc.until), arc.pk))


def arc_rows_in(chat: ChatOrKeys) -> QuerySet[Arc]:
    """Return the rows of ``arcs_in``.

    Those of other branches of the same story are left out: a branch has copies of what it inherited.
    """
    own_or_persistent = Q(chat=chat.pk)
    if chat.character_id:
        own_or_persistent |= is_seen_in(chat) & Q(character=chat.character_id, persistent=True)
    return _without_retired(Arc.objects.for_owner(chat.owner_id).filter(own_or_persistent))


def persistent_arcs_of(character: Character) -> list[Arc]:
    """Return the character's persistent arcs, open ones first, without retired ones."""
    rows = Arc.objects.for_owner(character.owner_id).filter(is_remembered(), character=character, persistent=True)
    return _open_first(with_endings(_without_retired(rows), all_endings(character.owner_id)))


def _without_retired(rows: QuerySet[Arc]) -> QuerySet[Arc]:
    rows = rows.exclude(state=Arc.State.RETIRED)
    return rows.select_related("source__chat", "until__chat", "chat").order_by("-pk")


def _open_first(arcs: Iterable[Arc]) -> list[Arc]:
    return sorted(arcs, key=lambda arc: arc.state != Arc.State.OPEN)


def _sent_at(message: Message | None) -> dt.datetime:
    """Return when a message was sent; if that is unknown, the latest time, as Postgres orders nulls."""
    sent_at = message.sent_at if message else None
    return sent_at or dt.datetime.max.replace(tzinfo=dt.UTC)


ARC_ROWS: CompiledQuery[Arc] = CompiledQuery(arc_rows_in)
