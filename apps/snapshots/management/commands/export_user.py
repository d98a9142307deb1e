"""``manage.py export_user EMAIL FILE``: write an account into an archive."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.management.user_lookup import user_named
from apps.snapshots.models import Snapshot
from apps.snapshots.tables import SnapshotScope
from apps.snapshots.writing import write_archive_of_one_moment


class Command(BaseCommand):
    help = "Write all chats, memories and settings of a user into an archive. Keys and tokens are left out."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("file", type=Path, help="a new file, such as alice.zip")

    def handle(self, *args: Any, email: str, file: Path, **options: Any) -> None:
        user = user_named(email)
        try:
            with file.open("xb") as target:
                manifest = write_archive_of_one_moment(SnapshotScope(Snapshot.Kind.ACCOUNT, user.pk), target)
        except FileExistsError:
            raise CommandError(f"{file} exists already.") from None
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}.") from None
        self.stdout.write(f"{manifest.rows} rows, {file.stat().st_size} bytes.")
