"""Change memory settings."""

from typing import Any

from apps.chats.models import Character
from apps.extraction.models import MemorySettings
from apps.extraction.settings.schema import SETTINGS
from apps.extraction.settings.stores import SettingsStore

MEMORY_SETTINGS = SettingsStore(MemorySettings, SETTINGS)
change_settings = MEMORY_SETTINGS.change


def on_characters_merged(*, character: Character, into: Character, **kwargs: Any) -> None:
    """Receive ``characters_merged``: move the settings of ``character`` if ``into`` has none of its own."""
    MEMORY_SETTINGS.move(character, into)
