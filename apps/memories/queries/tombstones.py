"""Read which memories were deleted since a moment."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from apps.chats.models import Chat
from apps.common.scoping import Owner
from apps.memories.models import Inheritance, Memory

MAX_TOMBSTONES = 1000  # of one reply, and the others of the last one's moment
# A deletion is dated before it is committed: so far back they are read again. No transaction takes longer.
OVERLAP = dt.timedelta(minutes=1)
MOMENT = dt.timedelta(microseconds=1)  # the resolution of the column


@dataclass(frozen=True)
class Tombstones:
    """Deleted memories, the earliest first. ``until`` is the moment from which to ask next."""

    memories: Sequence[Memory]
    until: dt.datetime
    is_complete: bool


def tombstones_since(owner: Owner, since: dt.datetime | None, *, chat: Chat | None = None) -> Tombstones:
    """Return the memories deleted since a moment, or ever: of an owner, or those that a chat may have known.

    A deletion may be returned by more than one call.
    """
    now = timezone.now()
    rows = Memory.objects.for_owner(owner).filter(deleted_at__isnull=False)
    if since is not None:
        rows = rows.filter(deleted_at__gte=since)
    if chat is not None:
        inherited = Inheritance.objects.for_owner(owner).filter(chat=chat).values("memory")
        of_character = Q(character=chat.character_id) if chat.character_id else Q()
        rows = rows.filter(Q(chat=chat) | Q(pk__in=inherited) | of_character)
    rows = rows.only("pk", "owner_id", "chat_id", "deleted_at").order_by("deleted_at", "pk")
    moments = [row.deleted_at for row in rows[MAX_TOMBSTONES - 1 : MAX_TOMBSTONES + 1]]
    if len(moments) > 1:
        assert moments[0] is not None
        # Memories that a person chose and deleted together have one moment, which no page may begin with twice.
        return Tombstones(list(rows.filter(deleted_at__lte=moments[0])), moments[0] + MOMENT, is_complete=False)
    return Tombstones(list(rows), now - OVERLAP, is_complete=True)
