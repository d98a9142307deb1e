"""``manage.py import_user FILE EMAIL``: put an archive in the place of an account."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from apps.accounts.management.user_lookup import user_named
from apps.common.problems import Problem
from apps.snapshots.archives import Archive
from apps.snapshots.restoring import restore_archive


class Command(BaseCommand):
    help = (
        "Restore an archive, also of another installation, into the account of a user, which must exist. What the user"
        " has is replaced, and kept as a snapshot."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("email")

    def handle(self, *args: Any, file: Path, email: str, **options: Any) -> None:
        user = user_named(email)
        try:
            with file.open("rb") as source:
                archive = Archive(source, signed=False)
                archive.check()
                with transaction.atomic():
                    restore_archive(archive, user.pk)
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}.") from None
        except Problem as problem:
            raise CommandError(f"{file}: {problem.detail}") from None
        self.stdout.write(f"{archive.manifest.rows} rows restored.")
