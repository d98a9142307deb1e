"""The writes to settings."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from apps.chats.models import Character, Chat
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.models import MemorySettings
from apps.extraction.settings.schema import NAMES, SCHEMA_VERSION, check


@transaction.atomic
def change_settings(
    owner: Owner, changes: Mapping[str, Any], *, character: Character | None = None, chat: Chat | None = None
) -> dict[str, Any]:
    """Set what differs from the more general settings; null takes a setting back. What is stored, is returned.

    Raises Invalid, naming each setting that can't be used.
    """
    check({name: value for name, value in changes.items() if value is not None} | _unknown(changes))
    rows = MemorySettings.objects.for_owner(owner)
    row, _ = rows.get_or_create(owner_id=owner_id_of(owner), character=character, chat=chat)
    row = rows.select_for_update().get(pk=row.pk)
    document = row.document | dict(changes)
    kept = {name: value for name, value in document.items() if value is not None and name != "schema_version"}
    row.document = {"schema_version": SCHEMA_VERSION, **kept}
    row.save(update_fields=["document", "updated_at"])
    return kept


def _unknown(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Null for a setting that there isn't is wrong too."""
    return {name: value for name, value in changes.items() if name not in NAMES}
