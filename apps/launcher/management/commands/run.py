"""``manage.py run web | beat | worker QUEUE | prepare``: run one program of Loci, as containers do."""

import os
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from apps.common.pages.static_files import collect_if_changed
from apps.launcher.services import beat, web, worker


class Command(BaseCommand):
    """Replace this process by a program of ``manage.py up``, so that signals reach it; ``prepare`` comes first."""

    help = "Run one program of Loci: web, beat, or the worker of a queue. prepare migrates the database and ends."
    requires_migrations_checks = False
    requires_system_checks = ()  # that of `migrate`, and with it `prepare`, makes them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("program", choices=["prepare", "web", "beat", "worker"])
        parser.add_argument("queue", nargs="?", choices=settings.QUEUES, help="The queue of a worker.")

    def handle(self, *args: Any, program: str, queue: str | None, **options: Any) -> None:
        if settings.EMBEDDED_DATABASE:
            raise CommandError("The embedded database is for `manage.py up`. Set DATABASE_URL.")
        if (queue is None) == (program == "worker"):
            raise CommandError("A worker needs a queue, and nothing else has one.")
        if program == "prepare":
            call_command("migrate", interactive=False, verbosity=1)
            return
        if program == "web":
            collect_if_changed()
        service = web() if program == "web" else beat() if queue is None else worker(queue)
        connections.close_all()
        os.chdir(settings.ROOT)
        os.nice(service.niceness)
        os.execvpe(service.command[0], list(service.command), {**os.environ, **service.environment})  # noqa: S606
