"""Read lists of chats."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F

from apps.chats.models import Chat, Persona
from apps.common.scoping import Owner


@dataclass(frozen=True)
class Overview:
    """Whether an owner has chats, any in the archive, and personas; the tags of all chats, sorted."""

    has_chats: bool
    has_archive: bool
    tags: list[str]
    has_personas: bool


def list_chats(owner: Owner, words: str = "", *, tag: str = "", archived: bool | None = False) -> Any:
    """Return the owner's own chats: pinned ones first, then those that were used last.

    Each has ``last_text``, and ``avatar_id`` of its character.

    With ``words`` or ``tag``, only those that match. ``archived`` chooses the archive; None means all chats.
    """
    chats = Chat.objects.for_owner(owner).own().select_related("character").with_last_text()
    chats = chats.annotate(avatar_id=F("character__avatar"))
    if archived is not None:
        chats = chats.filter(archived=archived)
    if tag:
        chats = chats.filter(tags__contains=[tag])
    return (chats.matching(words) if words else chats).order_by("-pinned", "-last_used", "-pk")


def overview_of(owner: Owner) -> Overview:
    """Return what the owner's chats can be filtered by, and whether the owner has personas."""
    personas = Persona.objects.for_owner(owner)
    chats = Chat.objects.for_owner(owner).own().order_by().annotate(has_personas=Exists(personas))
    rows = list(chats.values_list("archived", "tags", "has_personas").distinct())
    tags = {tag for _, tags, _ in rows for tag in tags}
    return Overview(
        has_chats=bool(rows),
        has_archive=any(archived for archived, _, _ in rows),
        tags=sorted(tags, key=str.casefold),
        has_personas=rows[0][2] if rows else personas.exists(),
    )
