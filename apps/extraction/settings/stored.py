"""The stored memory settings of users, characters and chats: read and change them."""

from dataclasses import asdict
from typing import Any

from apps.chats.models import Character, Chat
from apps.common.scoping import Owner
from apps.extraction.models import MemorySettings
from apps.extraction.settings.schema import SETTINGS, Settings, resolve
from apps.extraction.settings.stores import SettingsStore
from apps.llm.backends import backend_for

MEMORY_SETTINGS = SettingsStore(MemorySettings, SETTINGS)
change_settings = MEMORY_SETTINGS.change


def on_characters_merged(*, character: Character, into: Character, **kwargs: Any) -> None:
    """Receive ``characters_merged``: move the settings of ``character`` if ``into`` has none of its own."""
    MEMORY_SETTINGS.move(character, into)


def settings_of(chat: Chat) -> Settings:
    """Return the settings that apply to a chat, from defaults, its owner, its character and itself."""
    documents = MEMORY_SETTINGS.documents(chat.owner_id, chat.character_id, chat)
    return resolve(backend_for(chat.owner_id).profile, documents)


def settings_of_owner(owner: Owner, character: Character | None = None) -> Settings:
    """Return the settings that apply to all chats of an owner, or of one of their characters."""
    return resolve(backend_for(owner).profile, MEMORY_SETTINGS.documents(owner, character))


stored_settings = MEMORY_SETTINGS.stored


def settings_document(chat: Chat) -> dict[str, Any]:
    """Return the settings that apply to a chat and those stored for the user, the character and the chat."""
    character = stored_settings(chat.owner_id, character=chat.character) if chat.character else {}
    return {
        "effective": asdict(settings_of(chat)),
        "user": stored_settings(chat.owner_id),
        "character": character,
        "chat": stored_settings(chat.owner_id, chat=chat),
    }
