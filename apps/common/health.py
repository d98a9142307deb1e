"""Liveness and readiness probes, and the workers' heartbeats."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterable

from celery import current_app
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from apps.common import leases
from apps.common.disk import disk_state

HEARTBEAT_MAX_AGE = dt.timedelta(seconds=60)  # four times the interval between heartbeats
PROCESS = uuid.uuid4()  # holds the leases of a worker's main process


def record_heartbeat(queues: Iterable[str]) -> None:
    """Record that a worker of these queues is alive now."""
    for queue in queues:
        leases.take(lease_of_workers(queue), PROCESS, HEARTBEAT_MAX_AGE, limit=None)


def delete_heartbeats() -> None:
    """Delete the heartbeats of an earlier run, so that only current workers count as ready."""
    leases.delete(map(lease_of_workers, settings.QUEUES))


def lease_of_workers(queue: str) -> str:
    """Return the key that the workers of a queue hold."""
    return f"worker {queue}"


@require_safe
def alive(request: HttpRequest) -> JsonResponse:
    """Return 200 for a liveness probe. Only the web process itself is checked."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Return 200 for a readiness probe if database, broker and a worker of each queue are available, else 503.

    ``disk`` only warns: with a full disk, what is stored can still be read.
    """
    checks = {"database": database_responds, "broker": broker_responds, "worker": queues_have_workers}
    results = {name: check_passes(check) for name, check in checks.items()}
    status = 200 if all(results.values()) else 503
    document = {"status": "ok" if status == 200 else "unavailable", "checks": results, "disk": str(disk_state())}
    return JsonResponse(document, status=status)


def check_passes(check: Callable[[], bool]) -> bool:
    """Return the check's result, or False if it raises: each driver has its own exception types."""
    try:
        return check()
    except Exception:
        return False


def database_responds() -> bool:
    """Return whether a query succeeds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return cursor.fetchone() == (1,)


def broker_responds() -> bool:
    """Return whether a connection to the broker can be opened."""
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=3)
        return bool(broker.connected)


def queues_have_workers() -> bool:
    """Return whether a worker of each queue had a recent heartbeat."""
    return all(map(queue_has_worker, settings.QUEUES))


def queue_has_worker(queue: str) -> bool:
    """Return whether a worker of this queue had a recent heartbeat."""
    return bool(leases.holders(lease_of_workers(queue)))
