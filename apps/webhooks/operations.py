"""All writes to webhooks, and the announcement of events."""

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.common.database.ids import uuid7
from apps.common.database.rows import first_or_missing
from apps.common.jobs import lock_owner
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import Owner, owner_id_of
from apps.llm.http.addresses import AddressNotAllowed, address_policy
from apps.sync.live import CHANNEL, payload
from apps.webhooks.models import TEST, Delivery, Event, Webhook

MAX_WEBHOOKS = 10  # of an owner
SECRET_BYTES = 32
# One statement, which adds little to a write of an owner without webhooks. What is pending already is locked, so that
# it is not sent before this write is committed. Streams are told the same: Postgres drops equal notifications of a
# transaction, so that a run which writes hundreds of memories is one event. Ids of one subject begin alike, with the
# time, and end differently for each webhook.
ANNOUNCE = """
    WITH noted AS (
        INSERT INTO webhooks_delivery
            (id, owner_id, webhook_id, event, subject, data, state, attempts, due_at, error, created_at)
        SELECT (left(told.id::text, 24) || left(md5(told.id::text || webhook.id::text), 12))::uuid,
            webhook.owner_id, webhook.id, %(event)s, told.subject, %(data)s::jsonb || told.data, 'pending',
            0, now(), '', now()
        FROM webhooks_webhook AS webhook,
            unnest(%(delivery_ids)s::uuid[], %(subjects)s::uuid[], %(datas)s::jsonb[]) AS told (id, subject, data)
        WHERE webhook.owner_id = %(owner)s AND webhook.active AND %(event)s = ANY (webhook.events)
        ON CONFLICT (webhook_id, event, subject) WHERE state = 'pending' AND attempts = 0
            DO UPDATE SET due_at = EXCLUDED.due_at
        RETURNING webhook_id
    )
    SELECT webhook_id FROM noted
    UNION ALL SELECT NULL FROM (SELECT pg_notify(%(channel)s, %(word)s) WHERE %(word)s <> '') AS streams
"""


def access_webhook(owner: Owner, webhook_id: UUID) -> Webhook:
    """Return the owner's webhook. Raise Missing."""
    return first_or_missing(Webhook.objects.for_owner(owner).filter(pk=webhook_id), "There is no such webhook.")


@transaction.atomic
def create_webhook(owner: Owner, *, url: str, events: Sequence[str], active: bool = True) -> Webhook:
    """Create a webhook with a new secret. Raise Invalid, Conflict."""
    lock_owner(owner)
    if Webhook.objects.for_owner(owner).count() >= MAX_WEBHOOKS:
        raise Conflict(f"You can have {MAX_WEBHOOKS} webhooks.")
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    return Webhook.objects.create(
        owner_id=owner_id_of(owner), url=checked(url), events=_once(events), active=active, secret=secret
    )


def update_webhook(webhook: Webhook, **changes: Any) -> None:
    """Change the address, the events, or whether it is active. Raise Invalid."""
    if "url" in changes:
        changes["url"] = checked(changes["url"])
    if "events" in changes:
        changes["events"] = _once(changes["events"])
    for name, value in changes.items():
        setattr(webhook, name, value)
    webhook.save(update_fields=list(changes))


def retry(delivery: Delivery) -> None:
    """Send a delivery again, at once. One that is pending is due now."""
    with transaction.atomic():
        changed = {"state": Delivery.State.PENDING, "attempts": max(delivery.attempts, 1), "due_at": timezone.now()}
        Delivery.objects.for_owner(delivery.owner_id).filter(pk=delivery.pk).update(**changed)
        send_soon([delivery.webhook_id])
    delivery.refresh_from_db()


def send_test(webhook: Webhook) -> Delivery:
    """Send a delivery that tells nothing, to see whether it arrives. Raise Conflict if the webhook is off."""
    if not webhook.active:
        raise Conflict(gettext("It is off. Turn it on first."))
    with transaction.atomic():
        lock_owner(webhook.owner_id)
        waiting = Delivery.objects.for_owner(webhook.owner_id).filter(webhook=webhook, event=TEST, attempts=0)
        delivery: Delivery | None = waiting.filter(state=Delivery.State.PENDING).first()
        if delivery is None:
            delivery = Delivery.objects.create(
                owner_id=webhook.owner_id,
                webhook=webhook,
                event=TEST,
                subject=webhook.pk,
                data={"webhook": str(webhook.pk)},
            )
        send_soon([webhook.pk])
    return delivery


def announce(owner_id: UUID, event: str, subjects: Sequence[UUID], data: Mapping[str, Any]) -> None:
    """Note an event for the webhooks that want to be told of it. Without ``data``, a subject is a memory."""
    subjects = sorted(set(subjects))  # one order of locks
    if not subjects:
        return
    parameters: dict[str, Any] = {
        "owner": owner_id,
        "event": str(event),
        "data": json.dumps(data, default=str),
        "delivery_ids": [uuid7() for _ in subjects],
        "subjects": list(subjects),
        "datas": [json.dumps({} if data else {"memory": str(subject)}) for subject in subjects],
        "channel": CHANNEL,
        "word": _word(owner_id, event, data),
    }
    with connection.cursor() as cursor:
        cursor.execute(ANNOUNCE, parameters)
        webhooks = {webhook_id for (webhook_id,) in cursor.fetchall() if webhook_id}
    send_soon(webhooks)


def _word(owner_id: UUID, event: str, data: Mapping[str, Any]) -> str:
    """Return what streams are told of an event: of runs nothing, of which they are told already."""
    if event == Event.RUN_ENDED:
        return ""
    chat = data.get("chat")
    told: dict[str, Any] = {"event": str(event), "chat": str(chat) if chat else None}
    if event == Event.RECALL_MADE:
        told["message"] = str(data["message"]) if data["message"] else None
    return payload(owner_id, str(event).partition(".")[0], told)


def send_soon(webhook_ids: Any) -> None:
    """Have a worker send what webhooks are to be told, after the commit."""
    from apps.webhooks.tasks import deliver

    for webhook_id in sorted(webhook_ids):
        transaction.on_commit(partial(deliver.delay, webhook_id=str(webhook_id)))


def checked(url: str) -> str:
    """Return an address that may be called from this installation. Raise Invalid."""
    try:
        return str(address_policy().checked_url(url))
    except AddressNotAllowed as error:
        raise Invalid.at("/url", str(error)) from error


def _once(events: Sequence[str]) -> list[str]:
    if not events:
        raise Invalid.at("/events", gettext("Choose at least one."))
    return list(dict.fromkeys(events))
