"""``manage.py test_model --user EMAIL [--connection ID_OR_NAME] [--json]``: score a model on fixed scenes."""

import json
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.management.user_lookup import user_named
from apps.accounts.models import User
from apps.extraction.prompts.rendering import templates_of
from apps.extraction.suitability.running import format_progress, format_report, run
from apps.llm.backends.selection import backend_for, backend_on
from apps.llm.generation import BUILTIN, GenerationBackend, get_backend, unwatched
from apps.llm.models import Connection


class Command(BaseCommand):
    help = "Test a user's model on three fixed scenes. No memory is read or written."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, metavar="EMAIL")
        parser.add_argument(
            "--connection", metavar="ID_OR_NAME", help="a connection of the user, or builtin; default: the one in use"
        )
        parser.add_argument("--json", action="store_true", help="print a JSON document instead of a table")

    def handle(self, *args: Any, user: str, connection: str | None, **options: Any) -> None:
        owner = user_named(user)
        backend = _backend(owner, connection)
        self.stderr.write(f"{backend.name}: {backend.model}", style_func=str)
        report = run(
            backend,
            unwatched,
            lambda tier: self.stderr.write(format_progress(tier), style_func=str),
            templates=templates_of(owner),
        )
        document = {"backend": backend.name, "model": backend.model} | report.document()
        as_json = json.dumps(document, indent=2, ensure_ascii=False)
        self.stdout.write(as_json if options["json"] else format_report(report))


def _backend(owner: User, id_or_name: str | None) -> GenerationBackend:
    """Return the backend of a connection given by id or name. Raise CommandError unless exactly one matches."""
    if id_or_name is None:
        return backend_for(owner)
    if id_or_name == BUILTIN:
        return get_backend(BUILTIN)
    owned = Connection.objects.for_owner(owner)
    matches = list(owned.filter(pk=id_or_name) if _is_id(id_or_name) else owned.filter(name__iexact=id_or_name))
    if len(matches) == 1:
        return backend_on(matches[0])
    names = ", ".join(f"{connection.name} ({connection.pk})" for connection in owned.order_by("name")) or "none"
    problem = "has several connections" if matches else "has no connection"
    raise CommandError(f"{owner.email} {problem} {id_or_name!r}. Connections: {names}.")


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
