"""Injection settings of users, characters and chats."""

from typing import Any

from apps.chats.models import Character, Chat
from apps.common.scoping import Owner
from apps.extraction.settings.stores import SettingsStore
from apps.prompts.models import InjectionSettings
from apps.prompts.settings.schema import SETTINGS, PromptSettings, resolve

INJECTION_SETTINGS = SettingsStore(InjectionSettings, SETTINGS)


def prompt_settings_of(chat: Chat) -> PromptSettings:
    """Return the settings that apply to a chat, from defaults, its owner, its character and itself."""
    return resolve(INJECTION_SETTINGS.documents(chat.owner_id, chat.character_id, chat))


def prompt_settings_of_owner(owner: Owner, character: Character | None = None) -> PromptSettings:
    """Return the settings that apply to all chats of an owner, or of one of their characters."""
    return resolve(INJECTION_SETTINGS.documents(owner, character))


def on_characters_merged(*, character: Character, into: Character, **kwargs: Any) -> None:
    """Receive ``characters_merged``: move the settings of ``character`` if ``into`` has none of its own."""
    INJECTION_SETTINGS.move(character, into)
