"""Read arcs."""

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat
from apps.memories.lineage import is_remembered, is_seen_in
from apps.memories.models import Arc


def arcs_in(chat: Chat) -> QuerySet[Arc]:
    """Return the chat's arcs and its character's persistent ones, open ones first, without retired ones.

    Those of other branches of the same story are left out: a branch has copies of what it inherited.
    """
    own_or_persistent = Q(chat=chat)
    if chat.character_id:
        own_or_persistent |= is_seen_in(chat) & Q(character=chat.character_id, persistent=True)
    return _without_retired(Arc.objects.for_owner(chat.owner_id).filter(own_or_persistent))


def persistent_arcs_of(character: Character) -> QuerySet[Arc]:
    """Return the character's persistent arcs, open ones first, without retired ones."""
    rows = Arc.objects.for_owner(character.owner_id).filter(is_remembered(), character=character, persistent=True)
    return _without_retired(rows)


def _without_retired(rows: QuerySet[Arc]) -> QuerySet[Arc]:
    rows = rows.exclude(state=Arc.State.RETIRED)
    return rows.select_related("source__chat", "until__chat", "chat").order_by("state", "-pk")
