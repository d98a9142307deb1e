"""``manage.py migrate``, one process at a time."""

from typing import Any

from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections

MIGRATION_LOCK = 0x6C6F6369  # "loci"; any number that nothing else locks


class Command(migrate.Command):
    """Django's command under an advisory lock: several containers may be started at once, and all migrate first."""

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options.get("database") or DEFAULT_DB_ALIAS]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            super().handle(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])
