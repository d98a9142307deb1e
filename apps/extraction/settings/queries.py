"""Read the settings that apply to a chat, a character or a user."""

from dataclasses import asdict
from typing import Any

from django.db.models import Q

from apps.chats.models import Character, Chat
from apps.common.scoping import Owner
from apps.extraction.models import MemorySettings
from apps.extraction.settings.schema import Settings, resolve
from apps.llm.backends import backend_for


def settings_of(chat: Chat) -> Settings:
    """The settings that hold for a chat: defaults, the user's, its character's, its own."""
    return resolve(
        backend_for(chat.owner_id).profile, documents_of(chat.owner_id, chat=chat, character_id=chat.character_id)
    )


def settings_of_owner(owner: Owner, character: Character | None = None) -> Settings:
    """The settings that hold for all chats of an owner, or of one of their characters."""
    character_id = character.pk if character else None
    return resolve(backend_for(owner).profile, documents_of(owner, character_id=character_id))


def documents_of(owner: Owner, *, chat: Chat | None = None, character_id: Any = None) -> list[dict[str, Any]]:
    """The stored documents that apply, the most general first."""
    applies = Q(character=None, chat=None)
    if character_id:
        applies |= Q(character_id=character_id)
    if chat is not None:
        applies |= Q(chat=chat)
    rows = MemorySettings.objects.for_owner(owner).filter(applies)
    ordered = sorted(rows, key=lambda row: (row.chat_id is not None, row.character_id is not None))
    return [row.document for row in ordered]


def stored_settings(owner: Owner, *, character: Character | None = None, chat: Chat | None = None) -> dict[str, Any]:
    """What was set at one place, and nothing of what holds there from elsewhere."""
    row = MemorySettings.objects.for_owner(owner).filter(character=character, chat=chat).first()
    document = row.document if row else {}
    return {name: value for name, value in document.items() if name != "schema_version"}


def settings_document(chat: Chat) -> dict[str, Any]:
    """Return the settings that apply to a chat and those stored for the user, the character and the chat."""
    character = stored_settings(chat.owner_id, character=chat.character) if chat.character else {}
    return {
        "effective": asdict(settings_of(chat)),
        "user": stored_settings(chat.owner_id),
        "character": character,
        "chat": stored_settings(chat.owner_id, chat=chat),
    }
