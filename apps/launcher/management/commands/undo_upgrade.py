"""``manage.py undo_upgrade``: bring back the data of before the last upgrade."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from apps.launcher import upgrades
from apps.launcher.management.commands.up import single_instance
from apps.launcher.postgres_programs import EmbeddedPostgresError


class Command(BaseCommand):
    """Restore the dump that was made before the last migrations, or another one. Keep what it replaces for a while."""

    help = "Bring back the data of before the last upgrade; then start the version that wrote it."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("dump", nargs="?", type=Path, help="A dump other than the last, of LOCI_HOME.")

    def handle(self, *args: Any, dump: Path | None, **options: Any) -> None:
        if not settings.EMBEDDED_DATABASE:
            raise CommandError("DATABASE_URL is set: restore a backup of that database instead.")
        source = dump or next(reversed(upgrades.dumps(settings.LOCI_HOME)), None)
        if source is None or not source.is_file():
            raise CommandError("There is no dump: none is made before the first upgrade.")
        connections.close_all()
        with single_instance(settings.LOCI_HOME):
            try:
                upgrades.restore(settings.LOCI_HOME, source)
            except EmbeddedPostgresError as error:
                raise CommandError(f"{error} The data is as it was.") from error
        self.stdout.write(f"Restored {source.name}. Now start the version of Loci that you had then.")
