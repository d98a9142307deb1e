"""Documents of settings that a user, a character or a chat changed: read, merge and change them.

Each kind of settings is a store: a model with a document for each user, character and chat, and their declarations.
A character's document overrides the user's, and a chat's overrides both.
"""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.message_data.layout import dump
from apps.chats.models import Character, Chat
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.rows import get_or_create_locked
from apps.common.problems import Conflict, ProblemType
from apps.common.scoping import Owner, owner_id_of
from apps.common.settings.declarations import Schema
from apps.common.settings.inheritance import SettingsSource
from apps.extraction.models import MemorySettings, ScopedSettings
from apps.extraction.settings.schema import SETTINGS, Settings, resolve
from apps.llm.backends.selection import backend_for


class SettingsChanged(Conflict):
    """The settings have changed since the state that the request names."""

    type = ProblemType.INTEGRITY_CONFLICT
    title = _("The settings have changed")


def integrity_of(stored: Mapping[str, Any]) -> UUID:
    """Return a UUID that names the state of ``stored`` settings: it changes if and only if they do."""
    return uuid.uuid5(uuid.NAMESPACE_OID, dump(dict(sorted(stored.items()))))


@dataclass(frozen=True)
class SettingsStore:
    """A kind of settings: its rows, and the declarations of its settings."""

    model: type[ScopedSettings]
    settings: Schema

    def documents(
        self, owner: Owner, character: Character | UUID | None, chat: Chat | None = None
    ) -> list[dict[str, Any]]:
        """Return the documents that apply to a chat or a character, the most general first."""
        character_id = character.pk if isinstance(character, Character) else character
        rows = self._applicable.rows(owner_id_of(owner), character_id, chat.pk if chat else None)
        general_first = sorted(rows, key=lambda row: (row.chat_id is not None, row.character_id is not None))
        return [row.document for row in general_first]

    @cached_property
    def _applicable(self) -> CompiledQuery[ScopedSettings]:
        """Return the query of the rows that apply to a character and a chat of an owner."""

        def rows(owner_id: Any, character_id: Any, chat_id: Any) -> QuerySet[ScopedSettings]:
            # With chat=None, a chat without a character gets the user's row again instead of the rows of other chats.
            applies = Q(character=None, chat=None) | Q(character=character_id, chat=None)
            if chat_id is not None:
                applies |= Q(chat=chat_id)
            applicable: QuerySet[ScopedSettings] = self.model.objects.for_owner(owner_id).filter(applies)
            return applicable

        return CompiledQuery(rows)

    def stored(self, owner: Owner, *, character: Character | None = None, chat: Chat | None = None) -> dict[str, Any]:
        """Return the settings stored for a user, a character or a chat, without inherited ones."""
        row = self.model.objects.for_owner(owner).filter(character=character, chat=chat).first()
        return self._known(row.document) if row else {}

    def sources(
        self, owner: Owner, *, character: Character | None = None, chat: Chat | None = None
    ) -> list[SettingsSource]:
        """Return the settings stored for a user, a character and a chat, the most general first, for pages."""
        sources = [SettingsSource("yours", self.stored(owner))]
        if character:
            sources.append(SettingsSource(f"{character.name}’s", self.stored(owner, character=character)))
        if chat:
            sources.append(SettingsSource(gettext("this chat's"), self.stored(owner, chat=chat)))
        return sources

    @transaction.atomic
    def change(
        self,
        owner: Owner,
        changes: Mapping[str, Any],
        *,
        character: Character | None = None,
        chat: Chat | None = None,
        integrity: UUID | None = None,
    ) -> dict[str, Any]:
        """Set the settings of a user, a character or a chat; None resets a setting. Return the stored settings.

        ``integrity`` names the state that the changes were made on. Raise SettingsChanged if it is another one, unless
        the changes are in effect already, and Invalid, with a pointer to each setting that is unknown or has an invalid
        value.
        """
        # Unknown names are invalid even with None, which only resets known settings.
        self.settings.validate(
            {name: value for name, value in changes.items() if value is not None or name not in self.settings}
        )
        row = self._locked_row(owner, character, chat)
        before = self._known(row.document)
        kept = self._known(row.document | dict(changes))
        current = integrity_of(before)
        if integrity not in (None, current) and kept != before:
            detail = gettext("The settings were changed elsewhere in the meantime. Read them and try again.")
            raise SettingsChanged(detail, current_integrity=str(current), own=before)
        row.document = {"schema_version": self.settings.version, **kept}
        row.save(update_fields=["document", "updated_at"])
        return kept

    def _locked_row(self, owner: Owner, character: Character | None, chat: Chat | None) -> Any:
        """Return the row of a user, a character or a chat, created if there is none, and locked."""
        rows = self.model.objects.for_owner(owner)
        return get_or_create_locked(rows, owner_id=owner_id_of(owner), character=character, chat=chat)[0]

    def move(self, character: Character, into: Character) -> None:
        """Move the settings of a merged character if ``into`` has none of its own."""
        rows = self.model.objects.for_owner(character.owner_id)
        if not rows.filter(character=into).exists():
            rows.filter(character=character).update(character=into)

    def _known(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a document that are set, without its schema version."""
        return {name: value for name, value in self.settings.known(document).items() if value is not None}


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
