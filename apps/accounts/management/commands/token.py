"""``manage.py token EMAIL [--create] [--scope S] [--instance N] [--namespace N]``: create a token and print it."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db import OperationalError, ProgrammingError

from apps.accounts.models import ApiToken, User
from apps.accounts.operations import create_token
from apps.common.scoping import MAX_NAMESPACE_LENGTH


class Command(BaseCommand):
    """Create an API token and print it, so that scripts can capture it."""

    help = "Create an API token for a user and print only the token."
    requires_system_checks = ()  # they load all pages

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--create", action="store_true", help="Create the user if there is none.")
        parser.add_argument("--scope", choices=ApiToken.Scope.values, default=ApiToken.Scope.WRITE)
        parser.add_argument("--instance", help="The only instance in whose name it may pull and push.")
        parser.add_argument("--namespace", help="The only end user of whom it sees anything.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if len(options["namespace"] or "") > MAX_NAMESPACE_LENGTH:
                raise CommandError(f"--namespace has at most {MAX_NAMESPACE_LENGTH} characters.")
            for name in ("instance", "namespace"):
                # An empty shell variable must not make a token of the whole account.
                if options[name] is not None and not options[name].strip():
                    raise CommandError(f"--{name} is empty.")
            secret = self._secret(**options)
        except (OperationalError, ProgrammingError) as error:
            raise CommandError(
                f"There is no database of Loci's at {settings.LOCI_HOME}, or it isn't running. Start Loci first, and "
                "set LOCI_HOME or DATABASE_URL as there."
            ) from error
        self.stdout.write(secret)

    def _secret(self, *, email: str, create: bool, scope: str, **options: Any) -> str:
        user = User.objects.filter(email__iexact=email).first()
        if user is None and not create:
            raise CommandError(f"There is no user {email}; add --create to create one.")
        if user is None:
            try:
                validate_email(email)
            except ValidationError as error:
                raise CommandError(f"{email!r} is no e-mail address.") from error
            user = User.objects.create_user(email)
        instance, namespace = options["instance"] or "", options["namespace"] or ""
        _, secret = create_token(user, name="manage.py token", scope=scope, instance=instance, namespace=namespace)
        return secret
