"""Celery tasks of webhooks."""

from typing import Any

from celery import shared_task

from apps.common.database.restriction import restricted_to
from apps.common.scoping import system_scope
from apps.webhooks import delivering
from apps.webhooks.models import Webhook


@shared_task
def deliver(*, webhook_id: str, **kwargs: Any) -> None:
    """Send what a webhook is to be told."""
    with system_scope():
        webhook = Webhook.objects.filter(pk=webhook_id).first()
    if webhook is None:
        return
    with restricted_to(webhook.owner_id):
        if following := delivering.deliver_due(webhook):
            deliver.delay(webhook_id=str(following.pk))


@shared_task
def sweep_deliveries(**kwargs: Any) -> None:
    """Send what is due again or whose task was lost, and delete old deliveries."""
    with system_scope():
        webhooks = delivering.due_webhooks()
        delivering.delete_old()
    for webhook in webhooks:
        deliver.delay(webhook_id=str(webhook.pk))
