"""What chats do in the background."""

from typing import Any

from celery import shared_task

from apps.chats.events import ChatChanged, tell


@shared_task
def tell_subscribers(**event: Any) -> None:
    tell(ChatChanged.of_arguments(event))
