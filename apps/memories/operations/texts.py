"""Write versioned texts: summary, profiles, canon, continuity check and repair note."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat, Message
from apps.memories.models import VersionedText

PROFILE_SECTIONS = ("character_state", "world_state", "relationship_matrix")


def write_version(
    owner_id: UUID,
    kind: str,
    *,
    chat: Chat | None = None,
    character: Character | None = None,
    text: str = "",
    parts: Mapping[str, Any] | None = None,
    last: Message | None = None,
    run_id: UUID | None = None,
    editor: str = "",
) -> VersionedText:
    """Write a new version of a text and make it the current one.

    ``last`` is the last message that it covers; ``editor`` is empty for a run's version.
    """
    if character is not None:  # runs of the character's other chats may write this version too
        Character.objects.for_owner(owner_id).select_for_update().get(pk=character.pk)
    versions = VersionedText.objects.for_owner(owner_id).filter(kind=kind, chat=chat, character=character)
    latest = versions.order_by("-version").first()
    versions.filter(state=VersionedText.State.CURRENT).update(
        state=VersionedText.State.REPLACED, updated_at=timezone.now()
    )
    return VersionedText.objects.create(
        owner_id=owner_id,
        kind=kind,
        chat=chat,
        character=character,
        text=text,
        document={"schema_version": VersionedText.SCHEMA_VERSION, **(parts or {})},
        source=last,
        swipe=last.active_swipe if last else None,
        version=latest.version + 1 if latest else 1,
        run_id=run_id,
        edited_by=editor,
    )


@transaction.atomic
def edit_text(
    chat: Chat, kind: str, *, editor: str, character: Character | None = None, text: str | None = None, **parts: str
) -> VersionedText:
    """Write a person's version of a summary, a profile or the canon.

    Parts that are not given, and the last message covered, are those of the current version. The text of a profile
    is made from its sections.
    """
    lock_chat(chat.owner_id, chat.pk)
    # The canon of a character applies to all of their chats.
    of_character = kind == VersionedText.Kind.CANON and character is not None
    scope: dict[str, Any] = {"chat": None if of_character else chat, "character": character}
    versions = VersionedText.objects.for_owner(chat.owner_id).filter(kind=kind, **scope)
    current = versions.filter(state=VersionedText.State.CURRENT).first()
    merged = (current.parts if current else {}) | parts
    if kind == VersionedText.Kind.PROFILE:
        text = "\n\n".join(filter(None, (merged.get(name, "") for name in PROFILE_SECTIONS)))
    return write_version(
        chat.owner_id,
        kind,
        **scope,
        text=text if text is not None else current.text if current else "",
        parts=merged,
        last=current.source if current else None,
        editor=editor,
    )


@transaction.atomic
def restore_version(version: VersionedText, *, editor: str) -> VersionedText:
    """Write a new current version with the content of an earlier one."""
    return write_version(
        version.owner_id,
        version.kind,
        chat=version.chat,
        character=version.character,
        text=version.text,
        parts=version.parts,
        last=version.source,
        editor=editor,
    )
