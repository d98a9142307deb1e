"""Celery tasks of chats: change events, trimming of logs, deletions."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from apps.chats import operations
from apps.chats.models import Chat
from apps.chats.signals import ChatChanged, chat_committed
from apps.common.database.restriction import restrict


@shared_task
def dispatch_chat_committed(**event: Any) -> None:
    """Send ``chat_committed`` to all receivers. Exceptions are logged, and do not stop the others."""
    changed = ChatChanged(**event)
    restrict(changed.owner_id)
    chat_committed.send_robust(sender=Chat, event=changed)


@shared_task
def trim_change_logs(**kwargs: Any) -> None:
    """Delete old entries of the chats' change logs."""
    operations.trim_change_logs(timezone.now())


@shared_task
def purge_old_chats(**kwargs: Any) -> None:
    """Delete chats for good that have been in the bin for long enough."""
    operations.purge_old_chats(timezone.now())


@shared_task
def purge_old_personas(**kwargs: Any) -> None:
    """Delete personas for good that have been deleted for long enough."""
    operations.purge_old_personas(timezone.now())
