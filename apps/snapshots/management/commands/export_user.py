"""``manage.py export_user EMAIL FILE``: write an account into an archive."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.snapshots.models import Snapshot
from apps.snapshots.tables import Scope
from apps.snapshots.writing import write_archive_of_one_moment


class Command(BaseCommand):
    help = "Write all chats, memories and settings of a user into an archive. Keys and tokens are left out."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("file", type=Path, help="a new file, such as alice.zip")

    def handle(self, *args: Any, email: str, file: Path, **options: Any) -> None:
        user = User.objects.filter(email__iexact=email).first()
        if user is None:
            raise CommandError(f"There is no user {email}.")
        try:
            with file.open("xb") as target:
                manifest = write_archive_of_one_moment(Scope(Snapshot.Kind.ACCOUNT, user.pk), target)
        except FileExistsError:
            raise CommandError(f"{file} exists already.") from None
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}.") from None
        self.stdout.write(f"{manifest.rows} rows, {file.stat().st_size} bytes.")
