"""Read memory settings of a chat, a character or a user."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.chats.formats.layout import dump
from apps.chats.models import Character, Chat
from apps.common.scoping import Owner
from apps.extraction.jobs.model_tests import can_read_at_once
from apps.extraction.models import MemorySettings
from apps.extraction.settings.schema import SETTINGS, Settings, resolve
from apps.llm.backends import backend_for
from apps.llm.generation import GenerationBackend


def settings_of(chat: Chat) -> Settings:
    """Return the settings that apply to a chat, from defaults, its owner, its character and itself."""
    # With chat=None, a chat without a character gets the user's row again instead of the rows of other chats.
    applies = Q(character=None, chat=None) | Q(character=chat.character_id, chat=None) | Q(chat=chat)
    return _resolve(chat.owner_id, applies)


def settings_of_owner(owner: Owner, character: Character | None = None) -> Settings:
    """Return the settings that apply to all chats of an owner, or of one of their characters."""
    return _resolve(owner, Q(character=None, chat=None) | Q(character=character, chat=None))


def _resolve(owner: Owner, applies: Q) -> Settings:
    rows = MemorySettings.objects.for_owner(owner).filter(applies)
    general_first = sorted(rows, key=lambda row: (row.chat_id is not None, row.character_id is not None))
    return resolve(backend_for(owner).profile, [row.document for row in general_first])


def reads_at_once(owner: Owner, settings: Settings, backend: GenerationBackend) -> bool:
    """Return whether one call of the backend reads messages for all tiers.

    If the settings leave it open, large models do so, and small ones of which a suitability test found that they can.
    """
    if backend.name == "builtin" or settings.reading != "auto":
        return backend.name != "builtin" and settings.reading == "one"
    return settings.profile == "B" or can_read_at_once(owner, backend)


def stored_settings(owner: Owner, *, character: Character | None = None, chat: Chat | None = None) -> dict[str, Any]:
    """Return the settings stored for a user, a character or a chat, without inherited ones."""
    row = MemorySettings.objects.for_owner(owner).filter(character=character, chat=chat).first()
    return {name: value for name, value in row.document.items() if name in SETTINGS} if row else {}


def integrity_of(stored: Mapping[str, Any]) -> UUID:
    """Return a UUID that names the state of ``stored`` settings: it changes if and only if they do."""
    return uuid.uuid5(uuid.NAMESPACE_OID, dump(dict(sorted(stored.items()))))


def settings_document(chat: Chat) -> dict[str, Any]:
    """Return the settings that apply to a chat and those stored for the user, the character and the chat."""
    character = stored_settings(chat.owner_id, character=chat.character) if chat.character else {}
    return {
        "effective": asdict(settings_of(chat)),
        "user": stored_settings(chat.owner_id),
        "character": character,
        "chat": stored_settings(chat.owner_id, chat=chat),
    }
