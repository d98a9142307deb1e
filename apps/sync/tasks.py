"""Celery tasks that delete old data."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from apps.sync.idempotency import delete_old_records
from apps.sync.settings_documents import trim_log


@shared_task
def sweep_idempotency_records(**kwargs: Any) -> None:
    """Delete idempotency records that are too old for retries."""
    delete_old_records(timezone.now())


@shared_task
def trim_settings_logs(**kwargs: Any) -> None:
    """Delete old entries of the change logs of settings."""
    trim_log(timezone.now())
