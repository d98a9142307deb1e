"""Celery tasks of accounts."""

from typing import Any

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.accounts import operations
from apps.common import leases
from apps.common.http.rate_limits import delete_unused


@shared_task
def sweep_rate_limits(**kwargs: Any) -> None:
    """Delete counters of users who have made no requests for a while."""
    delete_unused()
    leases.delete_expired()


@shared_task
def delete_due_accounts(**kwargs: Any) -> None:
    """Delete the accounts whose period of grace has ended."""
    operations.delete_due_accounts(timezone.now())


@shared_task
def count_storage(**kwargs: Any) -> None:
    """Count the storage of all users, where it is limited."""
    if settings.QUOTA_MEGABYTES:
        operations.count_all()
