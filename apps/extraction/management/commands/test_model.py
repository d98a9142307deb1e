"""``manage.py test_model --user EMAIL [--connection ID_OR_NAME] [--json]``: how well a model makes memories."""

import json
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.extraction.prompts.overrides import templates_of
from apps.extraction.suitability.report import progress_of, table_of
from apps.extraction.suitability.running import run
from apps.llm.backends import backend_for
from apps.llm.backends.connected import ConnectedBackend
from apps.llm.generation import GenerationBackend, get_backend, unwatched
from apps.llm.models import Connection

BUILTIN = "builtin"


class Command(BaseCommand):
    help = "Test a user's model on three fixed scenes. No memory is read or written."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, metavar="EMAIL")
        parser.add_argument(
            "--connection", metavar="ID_OR_NAME", help="one of the user's connections, or builtin; else the one in use"
        )
        parser.add_argument("--json", action="store_true", help="print a JSON document instead of a table")

    def handle(self, *args: Any, user: str, connection: str | None, **options: Any) -> None:
        owner = User.objects.filter(email__iexact=user).first()
        if owner is None:
            raise CommandError(f"There is no user {user}.")
        backend = _backend(owner, connection)
        self.stderr.write(f"{backend.name}: {backend.model}", style_func=str)
        report = run(
            backend,
            unwatched,
            lambda tier: self.stderr.write(progress_of(tier), style_func=str),
            templates=templates_of(owner),
        )
        names = {"backend": backend.name, "model": backend.model}
        self.stdout.write(
            json.dumps(names | report.document(), indent=2, ensure_ascii=False) if options["json"] else table_of(report)
        )


def _backend(owner: User, wanted: str | None) -> GenerationBackend:
    """The backend that is meant. Raises CommandError where it isn't clear which."""
    if wanted is None:
        return backend_for(owner)
    if wanted == BUILTIN:
        return get_backend(BUILTIN)
    mine = Connection.objects.for_owner(owner)
    found = list(mine.filter(pk=wanted) if _is_id(wanted) else mine.filter(name__iexact=wanted))
    if len(found) == 1:
        return ConnectedBackend(found[0])
    names = ", ".join(f"{one.name} ({one.pk})" for one in mine.order_by("name")) or "none"
    several = "has several connections" if found else "has no connection"
    raise CommandError(f"{owner.email} {several} {wanted!r}. There are: {names}.")


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
