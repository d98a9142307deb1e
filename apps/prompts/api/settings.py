"""API of the injection settings of a user, a character or a chat."""

from typing import Any

from apps.chats.models import Character, Chat
from apps.extraction.api.setting_views import OfCharacter, OfChat, SettingsView, described
from apps.prompts.settings.schema import SETTINGS
from apps.prompts.settings.stores import INJECTION_SETTINGS, prompt_settings_of, prompt_settings_of_owner


@described("InjectionSettings", SETTINGS)
class InjectionSettingsView(SettingsView):
    """Injection settings of the requester; subclasses serve those of a character or a chat."""

    store = INJECTION_SETTINGS

    def effective(self, character: Character | None = None, chat: Chat | None = None) -> dict[str, Any]:
        settings = prompt_settings_of(chat) if chat else prompt_settings_of_owner(self.request.user, character)
        return settings.values()


class CharacterInjectionSettingsView(OfCharacter, InjectionSettingsView):
    """Injection settings of a character."""


class ChatInjectionSettingsView(OfChat, InjectionSettingsView):
    """Injection settings of a chat."""
