"""Celery tasks of accounts."""

from typing import Any

from celery import shared_task

from apps.common.rate_limits import delete_unused


@shared_task
def sweep_rate_limits(**kwargs: Any) -> None:
    """Delete counters of users who have made no requests for a while."""
    delete_unused()
