"""Write versioned texts: summary, profiles, canon, continuity check and repair note."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat, Message
from apps.common.problems import Missing
from apps.memories.models import VersionedText
from apps.memories.queries.texts import current_version

PROFILE_SECTIONS = ("character_state", "world_state", "relationship_matrix")


@dataclass(frozen=True)
class NewVersion:
    """What a new version of a text says. ``last`` is the last message that it covers.

    It was made from what was known at ``made_at``, by default now.
    """

    text: str = ""
    parts: Mapping[str, Any] = field(default_factory=dict)
    last: Message | None = None
    made_at: dt.datetime | None = None


def write_version(
    chat: Chat,
    kind: str,
    new: NewVersion,
    *,
    character: Character | None = None,
    run_id: UUID | None = None,
    editor: str = "",
) -> VersionedText:
    """Write a new version of a text and make it the current one. The caller holds the chat's lock.

    ``editor`` is empty for a run's version.
    """
    versions = VersionedText.objects.for_owner(chat.owner_id).filter(kind=kind, chat=chat, character=character)
    latest = versions.order_by("-version").first()
    replace_current(chat, kind, character)
    return VersionedText.objects.create(
        owner_id=chat.owner_id,
        kind=kind,
        chat=chat,
        character=character,
        text=new.text,
        document=_document(new.parts),
        source=new.last,
        swipe=new.last.active_swipe if new.last else None,
        version=latest.version + 1 if latest else 1,
        run_id=run_id,
        edited_by=editor,
        created_at=new.made_at or timezone.now(),
    )


def _document(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema_version": VersionedText.SCHEMA_VERSION, **parts}


def write_canon(character: Character, text: str, *, editor: str) -> VersionedText:
    """Write the canon of a character that has none, in no chat."""
    return VersionedText.objects.create(
        owner_id=character.owner_id,
        kind=VersionedText.Kind.CANON,
        character=character,
        text=text,
        document=_document({}),
        edited_by=editor,
    )


def replace_current(chat: Chat, kind: str, character: Character | None = None) -> None:
    """Leave a text without a current version. The caller holds the chat's lock."""
    versions = VersionedText.objects.for_owner(chat.owner_id).filter(kind=kind, chat=chat, character=character)
    versions.filter(state=VersionedText.State.CURRENT).update(
        state=VersionedText.State.REPLACED, updated_at=timezone.now()
    )


@transaction.atomic
def edit_text(
    chat: Chat, kind: str, *, editor: str, character: Character | None = None, text: str | None = None, **parts: str
) -> VersionedText:
    """Write a person's version of a summary, a profile or the canon.

    Parts that are not given are those of the current version. The last message covered is the summary's, and for the
    other texts the chat's newest: a branch that begins earlier doesn't get them. The text of a profile is made from its
    sections.
    """
    chat = lock_chat(chat.owner_id, chat.pk)
    current = current_version(chat, kind, character)
    merged = (current.parts if current else {}) | parts
    if kind == VersionedText.Kind.PROFILE:
        text = "\n\n".join(filter(None, (merged.get(name, "") for name in PROFILE_SECTIONS)))
    if kind == VersionedText.Kind.SUMMARY:
        last = current.source if current else None
    else:
        last = Message.objects.for_owner(chat.owner_id).with_swipes().filter(chat=chat).order_by("index").last()
    if text is None:
        text = current.text if current else ""
    return write_version(chat, kind, NewVersion(text, merged, last), character=character, editor=editor)


@transaction.atomic
def restore_version(version: VersionedText, *, editor: str) -> VersionedText:
    """Write a new current version with the content of an earlier one. Raise Missing if its chat was purged."""
    if version.chat_id is None:
        raise Missing(gettext("The chat of this text was deleted."))
    chat = lock_chat(version.owner_id, version.chat_id)
    new = NewVersion(version.text, version.parts, version.source)
    return write_version(chat, version.kind, new, character=version.character, editor=editor)
