"""Read which memories were deleted since a moment."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from apps.chats.models import Chat
from apps.common.scoping import Owner
from apps.memories.models import Inheritance, Memory

MAX_TOMBSTONES = 1000  # of one reply
# A deletion is dated before it is committed: so far back they are read again. No transaction takes longer.
OVERLAP = dt.timedelta(minutes=1)


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
    found = list(
        rows.only("pk", "owner_id", "chat_id", "deleted_at").order_by("deleted_at", "pk")[: MAX_TOMBSTONES + 1]
    )
    if len(found) > MAX_TOMBSTONES:
        last = found[MAX_TOMBSTONES - 1].deleted_at
        assert last is not None
        return Tombstones(found[:MAX_TOMBSTONES], last, is_complete=False)
    return Tombstones(found, now - OVERLAP, is_complete=True)
