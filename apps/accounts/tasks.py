"""Celery tasks of accounts."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from apps.accounts import deletion
from apps.common.rate_limits import delete_unused


@shared_task
def sweep_rate_limits(**kwargs: Any) -> None:
    """Delete counters of users who have made no requests for a while."""
    delete_unused()


@shared_task
def delete_due_accounts(**kwargs: Any) -> None:
    """Delete the accounts whose period of grace has ended."""
    deletion.delete_due_accounts(timezone.now())
