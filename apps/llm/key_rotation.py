"""Encryption of stored keys with the current SECRET_KEY, after it was replaced."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection as database

from apps.common.scoping import system_scope
from apps.llm.encryption import Undecryptable
from apps.llm.models import Connection

STORED = "SELECT api_key FROM llm_connection WHERE id = %s"


@dataclass
class Rotation:
    """Numbers of keys: encrypted again, changed by their owners meanwhile, and not readable with any known secret."""

    sealed: int = 0
    changed: int = 0
    unreadable: int = 0


def rotate_keys() -> Rotation:
    """Encrypt all stored keys with the current SECRET_KEY. It can be repeated, and interrupted."""
    result = Rotation()
    with system_scope():
        ids = list(Connection.objects.exclude(api_key_hint="", api_key="").values_list("pk", flat=True))
        for pk in ids:
            _rotate(pk, result)
    return result


def _rotate(pk: UUID, result: Rotation) -> None:
    """Encrypt one key again, unless it was changed since it was read."""
    with database.cursor() as cursor:
        cursor.execute(STORED, [pk])
        row = cursor.fetchone()
        if row is None or not row[0]:
            return
        key = Connection._meta.get_field("api_key").from_db_value(row[0], None, database)
        if isinstance(key, Undecryptable):
            result.unreadable += 1
            return
        sealed = Connection._meta.get_field("api_key").get_prep_value(key)
        cursor.execute("UPDATE llm_connection SET api_key = %s WHERE id = %s AND api_key = %s", [sealed, pk, row[0]])
        if cursor.rowcount:
            result.sealed += 1
        else:
            result.changed += 1
