"""Read versioned texts: summary, profiles, canon, continuity check and repair note."""

from functools import partial
from typing import Any

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat, Participant
from apps.chats.queries.keys import ChatKeys, ChatOrKeys, keys_of
from apps.common.database.compiled_queries import CompiledQuery
from apps.memories.models import Arc, Memory, VersionedText
from apps.memories.visibility import is_remembered, is_seen_in


def current_version(chat: Chat, kind: str, character: Character | None = None) -> VersionedText | None:
    """Return the current version of the text of a chat and character, if there is one."""
    return CURRENT[VersionedText.Kind(kind)].first(keys_of(chat), character.pk if character else None)


def _current_version(kind: str, chat: ChatKeys, character_id: Any) -> QuerySet[VersionedText]:
    versions = versions_in(chat, kind).filter(state=VersionedText.State.CURRENT)
    return versions.filter(character=character_id)[:1]


def versions_in(chat: ChatOrKeys, kind: str) -> QuerySet[VersionedText]:
    """Return all versions of a kind of text, newest first.

    A character's canon that a person wrote in another story applies until the chat has one of its own. A canon made
    by a run does not: it may tell what only another branch of this story knows.
    """
    mine = Q(chat=chat.pk)
    if kind == VersionedText.Kind.CANON:
        mine |= Q(pk__in=_canon_of_other_stories(chat).values("pk"))
    rows: QuerySet[VersionedText] = VersionedText.objects.for_owner(chat.owner_id).filter(mine, kind=kind)
    return rows.select_related("source", "character").order_by("-pk")


def _canon_of_other_stories(chat: ChatOrKeys) -> QuerySet[VersionedText]:
    """Return a person's newest canon for each character that has none in the chat itself."""
    rows: QuerySet[VersionedText] = VersionedText.objects.for_owner(chat.owner_id).filter(
        kind=VersionedText.Kind.CANON, state=VersionedText.State.CURRENT, character__isnull=False
    )
    members = Participant.objects.for_owner(chat.owner_id).filter(chat=chat.pk).values("character")
    here = rows.filter(chat=chat.pk).values("character")
    others = rows.exclude(edited_by="").exclude(character__in=here).exclude(story=chat.story).filter(is_remembered())
    others = others.filter(Q(character=chat.character_id) | Q(character__in=members))
    return others.order_by("character", "-pk").distinct("character")


CURRENT = {kind: CompiledQuery(partial(_current_version, kind)) for kind in VersionedText.Kind}


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
