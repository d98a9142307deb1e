"""Read lists of chats."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, Q

from apps.chats.models import Chat, Persona
from apps.common.scoping import Owner


@dataclass(frozen=True)
class Overview:
    """Whether an owner has chats, any in the archive, and personas; tags and folders of all chats, sorted.

    ``folders`` are those of the list, each with the number of its chats.
    """

    has_chats: bool
    has_archive: bool
    tags: list[str]
    folders: list[tuple[str, int]]
    has_personas: bool


def list_chats(
    owner: Owner, words: str = "", *, tag: str = "", folder: str | None = None, archived: bool | None = False
) -> Any:
    """Return the owner's own chats: pinned ones first, then those that were used last.

    Each has ``last_text``, and ``avatar_id`` of its character.

    With ``words`` or ``tag``, only those that match. ``archived`` chooses the archive; None means all chats. So does
    ``folder``, which is empty for chats in none; pinned chats stand there too.
    """
    chats = Chat.objects.for_owner(owner).own().select_related("character").with_last_text()
    chats = chats.annotate(avatar_id=F("character__avatar"))
    if archived is not None:
        chats = chats.filter(archived=archived)
    if tag:
        chats = chats.filter(tags__contains=[tag])
    if folder is not None:
        chats = chats.filter(Q(folder=folder) if folder else Q(folder="") | Q(pinned=True))
    return (chats.matching(words) if words else chats).order_by("-pinned", "-last_used", "-pk")


def overview_of(owner: Owner) -> Overview:
    """Return what the owner's chats can be filtered by, and whether the owner has personas."""
    personas = Persona.objects.for_owner(owner)
    chats = Chat.objects.for_owner(owner).own().order_by().annotate(has_personas=Exists(personas))
    rows = list(chats.values_list("archived", "tags", "folder", "has_personas").annotate(Count("pk")))
    tags = {tag for _, tags, *_ in rows for tag in tags}
    folders: Counter[str] = Counter()
    for archived, _, folder, _, count in rows:
        if folder and not archived:
            folders[folder] += count
    return Overview(
        has_chats=bool(rows),
        has_archive=any(archived for archived, *_ in rows),
        tags=sorted(tags, key=str.casefold),
        folders=sorted(folders.items(), key=lambda folder: folder[0].casefold()),
        has_personas=rows[0][3] if rows else personas.exists(),
    )
