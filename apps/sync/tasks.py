"""Celery tasks that delete old data."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from apps.sync.idempotency import drop_old_bodies
from apps.sync.settings_documents import trim_log


@shared_task
def sweep_idempotency_records(**kwargs: Any) -> None:
    """Drop the bodies of old responses to writes with an Idempotency-Key."""
    drop_old_bodies(timezone.now())


@shared_task
def trim_settings_logs(**kwargs: Any) -> None:
    """Delete old entries of the change logs of settings."""
    trim_log(timezone.now())
