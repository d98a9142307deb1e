"""What chats do in the background."""

from typing import Any

from celery import shared_task

from apps.chats import operations
from apps.chats.events import ChatChanged, tell
from apps.common import clock


@shared_task
def tell_subscribers(**event: Any) -> None:
    tell(ChatChanged.of_arguments(event))


@shared_task
def trim_change_logs(**kwargs: Any) -> None:
    """Forget old writes to chats."""
    operations.trim_change_logs(clock.now())
