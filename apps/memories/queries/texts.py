"""Read versioned texts: summary, profiles, canon, continuity check and repair note."""

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat
from apps.memories.lineage import is_seen_in
from apps.memories.models import Arc, Memory, VersionedText


def current_version(chat: Chat, kind: str) -> VersionedText | None:
    """Return the current version of a text, if there is one."""
    return versions_in(chat, kind).filter(state=VersionedText.State.CURRENT).first()


def versions_in(chat: Chat, kind: str) -> QuerySet[VersionedText]:
    """Return all versions of a kind of text, newest first. The canon belongs to the character, the rest to the chat."""
    mine = Q(chat=chat)
    if kind == VersionedText.Kind.CANON and chat.character_id:
        mine |= Q(chat=None, character=chat.character_id)
    rows: QuerySet[VersionedText] = VersionedText.objects.for_owner(chat.owner_id).filter(mine, kind=kind)
    return rows.select_related("source", "character").order_by("-pk")


def versions_of(character: Character) -> QuerySet[VersionedText]:
    """Return all versions of the character's canon, and of their profile in each chat, newest first."""
    kinds = (VersionedText.Kind.CANON, VersionedText.Kind.PROFILE)
    rows: QuerySet[VersionedText] = VersionedText.objects.for_owner(character.owner_id).filter(
        character=character, kind__in=kinds, chat__deleted_at=None
    )
    return rows.select_related("source__chat", "character", "chat").order_by("-pk")


def is_outdated(version: VersionedText, chat: Chat, character: Character | None) -> bool:
    """Return whether something that a profile or canon of the chat may come from has changed since it was written.

    That is a memory, or a resolved arc, which was edited, replaced, retired or deleted.
    """
    mine = Q(chat=chat)
    if character is not None:
        mine |= Q(character=character) & is_seen_in(chat)
    since = Q(created_at__lte=version.created_at, updated_at__gt=version.created_at)
    memories = Memory.objects.for_owner(chat.owner_id).filter(mine, since)
    arcs = Arc.objects.for_owner(chat.owner_id).filter(mine, since)
    gone = ~Q(state=Memory.State.ACTIVE) | Q(deleted_at__isnull=False)
    return (
        memories.filter(gone | ~Q(edited_by="")).exists()
        or arcs.filter(Q(state=Arc.State.RETIRED) | Q(state=Arc.State.RESOLVED) & ~Q(edited_by="")).exists()
    )
