"""What happens in the background. Tasks carry ids; what they do stands elsewhere."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from apps.sync.idempotency import delete_old_replies
from apps.sync.settings_documents import trim_log


@shared_task
def sweep_replies(**kwargs: Any) -> None:
    """Forget the replies that nobody will ask for again."""
    delete_old_replies(timezone.now())


@shared_task
def trim_settings_logs(**kwargs: Any) -> None:
    """Forget old writes to settings."""
    trim_log(timezone.now())
