"""Send deliveries: signed, in order, one at a time for each webhook, and again if the receiver fails.

A worker holds a lease of the webhook while it sends, and one of the places of its owner, so that slow receivers of one
owner take no worker from the others. One that was held up and has lost them sends and stores no more.

Headers and signature are those of the Standard Webhooks specification 1.0.0.
"""

import base64
import datetime as dt
import hashlib
import hmac
import json
import time
import uuid
from typing import Any

import httpx2
from django.conf import settings
from django.utils import timezone

from apps.common import leases
from apps.common.database.connections import release_connection
from apps.llm.encryption import Undecryptable
from apps.llm.http.addresses import AddressNotAllowed, address_policy
from apps.llm.http.transport import ALLOWED_HEADERS, CancellationChecker, CheckedTransport
from apps.webhooks.models import Delivery, Webhook

TIMEOUT = 10.0  # seconds for a call
BATCH = 20  # deliveries of one task, so that a slow receiver does not keep a worker for long
LEASE = dt.timedelta(seconds=TIMEOUT + 60)  # renewed before each call, which it outlives
# Seconds before each further attempt: about a day in all.
PAUSES = (10, 60, 600, 3600, 6 * 3600, 15 * 3600)
KEPT = dt.timedelta(days=30)  # what has ended is deleted then
HEADERS = ALLOWED_HEADERS | {"webhook-id", "webhook-timestamp", "webhook-signature"}


def deliver_due(webhook: Webhook) -> Webhook | None:
    """Send what is due, oldest first, unless another worker does, or the owner has no place.

    Return the webhook of the owner that is to be served next: one that may have waited, else this one if more is due.
    """
    holder, lease, places = uuid.uuid4(), lease_of_deliveries(webhook), lease_of_places(webhook)
    if not webhook.active or leases.take(lease, holder, LEASE) is None:
        return None
    try:
        if leases.take(places, holder, LEASE, limit=settings.MODEL_PLACES_OF_OWNER) is None:
            return None
        due = list(_due(webhook)[:BATCH])
        for delivery in due:
            if not (leases.renew(lease, holder, LEASE) and leases.renew(places, holder, LEASE)):
                return None
            _send(webhook, delivery)
    finally:
        leases.release(places, holder)
        leases.release(lease, holder)
    # The others come first, or a receiver that never answers would keep the owner's places.
    return (_waiting(webhook) if due else None) or (webhook if len(due) == BATCH else None)


def _waiting(served: Webhook) -> Webhook | None:
    """Return another webhook of the owner for which something is due and which no worker serves."""
    due = _due_of_any(Delivery.objects.for_owner(served.owner_id)).exclude(webhook=served.pk)
    others = Webhook.objects.for_owner(served.owner_id).filter(pk__in=due.values("webhook")).order_by("pk")
    return next((other for other in others if not leases.holders(lease_of_deliveries(other))), None)


def lease_of_places(webhook: Webhook) -> str:
    """Return the key that workers hold while they send what webhooks of an owner are to be told."""
    return f"webhooks of {webhook.owner_id}"


def lease_of_deliveries(webhook: Webhook) -> str:
    """Return the key that a worker holds while it sends what a webhook is to be told."""
    return f"webhook {webhook.pk}"


def _due(webhook: Webhook) -> Any:
    pending = Delivery.objects.for_owner(webhook.owner_id).filter(webhook=webhook, state=Delivery.State.PENDING)
    return pending.filter(due_at__lte=timezone.now()).order_by("id")


def _send(webhook: Webhook, delivery: Delivery) -> None:
    """Call the webhook, and store what came of it, unless another worker has begun to send the delivery."""
    own = Delivery.objects.for_owner(delivery.owner_id).filter(pk=delivery.pk, state=Delivery.State.PENDING)
    # An attempt is counted before it is made. From then on, the same event is told once more, and a worker that has an
    # earlier count stores nothing: its lease ended during its call, and another worker sends the delivery again.
    if not own.filter(attempts=delivery.attempts).update(attempts=delivery.attempts + 1):
        return
    delivery.attempts += 1
    delivery.status, delivery.error = _call(webhook, delivery)
    if delivery.status and 200 <= delivery.status < 300:
        delivery.state, delivery.delivered_at = Delivery.State.DELIVERED, timezone.now()
    elif delivery.status == 410 or delivery.attempts > len(PAUSES):  # 410: the receiver wants no more of it
        delivery.state = Delivery.State.FAILED
    else:
        delivery.due_at = timezone.now() + dt.timedelta(seconds=PAUSES[delivery.attempts - 1])
    changed = ("status", "error", "state", "delivered_at", "due_at")
    fields = {name: getattr(delivery, name) for name in changed}
    own.filter(attempts=delivery.attempts).update(**fields)


def _call(webhook: Webhook, delivery: Delivery) -> tuple[int | None, str]:
    """Return the status of the reply, and why the call failed."""
    if isinstance(webhook.secret, Undecryptable):
        return None, "The secret was encrypted with another SECRET_KEY. Create the webhook again."
    body = json.dumps(document_of(delivery), ensure_ascii=False).encode()
    headers = signed(webhook.secret, str(delivery.pk), int(timezone.now().timestamp()), body)
    release_connection()
    deadline = time.monotonic() + TIMEOUT

    def watch() -> None:  # a host may have many addresses, of which none answers
        if time.monotonic() > deadline:
            raise TimeoutError

    transport = CheckedTransport(
        address_policy(), CancellationChecker(watch, TIMEOUT), allowed_headers=frozenset(HEADERS)
    )
    try:
        with (
            httpx2.Client(transport=transport, timeout=TIMEOUT, follow_redirects=False, trust_env=False) as client,
            client.stream("POST", webhook.url, content=body, headers=headers) as reply,
        ):
            status = reply.status_code
    except AddressNotAllowed as error:
        return None, str(error)[:500]
    except (httpx2.TimeoutException, TimeoutError):
        return None, f"No reply within {TIMEOUT:g} seconds."
    except httpx2.HTTPError as error:
        return None, f"The receiver can't be reached. {error}"[:500]
    return status, "" if 200 <= status < 300 else f"The receiver replied with the status {status}."


def document_of(delivery: Delivery) -> dict[str, Any]:
    """Return the body of a call: ids alone, with which the receiver asks the API."""
    return {"type": delivery.event, "timestamp": delivery.created_at.isoformat(), "data": delivery.data}


def signed(secret: str, delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers that prove to the receiver who sends a body, and when."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


def due_webhooks() -> list[Webhook]:
    """Return the webhooks for which something is due. Within ``system_scope()``."""
    due = _due_of_any(Delivery.objects.all())
    return list(Webhook.objects.filter(pk__in=due.values("webhook")).order_by("pk"))


def _due_of_any(deliveries: Any) -> Any:
    return deliveries.filter(state=Delivery.State.PENDING, due_at__lte=timezone.now(), webhook__active=True)


def delete_old() -> None:
    """Delete deliveries that ended long ago. Within ``system_scope()``."""
    Delivery.objects.exclude(state=Delivery.State.PENDING).filter(created_at__lt=timezone.now() - KEPT).delete()
