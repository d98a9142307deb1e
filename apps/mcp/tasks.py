"""Celery tasks of OAuth."""

from typing import Any

from celery import shared_task
from django.utils import timezone

from apps.common.scoping import system_scope
from apps.mcp.oauth.grants import delete_unused


@shared_task
def sweep_oauth(**kwargs: Any) -> None:
    """Delete what no program can use any more."""
    with system_scope():
        delete_unused(timezone.now())
