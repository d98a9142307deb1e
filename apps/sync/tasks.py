"""Celery tasks that delete old data."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from apps.sync.idempotency import delete_old_replies
from apps.sync.settings_documents import trim_log


@shared_task
def sweep_replies(**kwargs: Any) -> None:
    """Delete stored replies that are past the time for retries."""
    delete_old_replies(timezone.now())


@shared_task
def trim_settings_logs(**kwargs: Any) -> None:
    """Delete old entries of the change logs of settings."""
    trim_log(timezone.now())
