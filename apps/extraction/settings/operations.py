"""Change memory settings."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.models import Character, Chat
from apps.common.problems import Conflict, ProblemType
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.models import MemorySettings
from apps.extraction.settings.queries import integrity_of
from apps.extraction.settings.schema import SCHEMA_VERSION, SETTINGS, validate


class SettingsChanged(Conflict):
    """The settings have changed since the state that the request names."""

    type = ProblemType.INTEGRITY_CONFLICT
    title = "The settings have changed"


@transaction.atomic
def change_settings(
    owner: Owner,
    changes: Mapping[str, Any],
    *,
    character: Character | None = None,
    chat: Chat | None = None,
    integrity: UUID | None = None,
) -> dict[str, Any]:
    """Set the settings of a user, a character or a chat; None resets a setting. Return the stored settings.

    ``integrity`` names the state that the changes were made on. Raise SettingsChanged if it is another one, unless the
    changes are in effect already, and Invalid, with a pointer to each setting that is unknown or has an invalid value.
    """
    # Unknown names are invalid even with None, which only resets known settings.
    validate({name: value for name, value in changes.items() if value is not None or name not in SETTINGS})
    rows = MemorySettings.objects.for_owner(owner)
    row, _ = rows.get_or_create(owner_id=owner_id_of(owner), character=character, chat=chat)
    row = rows.select_for_update().get(pk=row.pk)
    before = _known(row.document)
    kept = _known(row.document | dict(changes))
    current = integrity_of(before)
    if integrity not in (None, current) and kept != before:
        detail = "The settings were changed elsewhere in the meantime. Read them and try again."
        raise SettingsChanged(detail, current_integrity=str(current), own=before)
    row.document = {"schema_version": SCHEMA_VERSION, **kept}
    row.save(update_fields=["document", "updated_at"])
    return kept


def _known(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a document that are set, without its schema version."""
    return {name: value for name, value in document.items() if value is not None and name in SETTINGS}


def on_characters_merged(*, character: Character, into: Character, **kwargs: Any) -> None:
    """Receive ``characters_merged``: move the settings of ``character`` if ``into`` has none of its own."""
    rows = MemorySettings.objects.for_owner(character.owner_id)
    if not rows.filter(character=into).exists():
        rows.filter(character=character).update(character=into)
