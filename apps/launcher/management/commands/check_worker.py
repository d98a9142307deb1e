"""``manage.py check_worker QUEUE``: whether a worker of a queue is alive, for health checks of containers."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.common.health import queue_has_worker


class Command(BaseCommand):
    """Succeed if a worker of the queue had a recent heartbeat."""

    help = "Succeed if a worker of the queue is alive."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queue", choices=settings.QUEUES)

    def handle(self, *args: Any, queue: str, **options: Any) -> None:
        if not queue_has_worker(queue):
            raise CommandError(f"No worker of {queue} had a heartbeat within the last minute.")
