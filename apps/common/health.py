"""Liveness and readiness probes, and the worker's heartbeat."""

import datetime as dt
from collections.abc import Callable

from celery import current_app
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from apps.common.models import Heartbeat

WORKER = "worker"
HEARTBEAT_MAX_AGE = dt.timedelta(seconds=60)  # four times the interval between heartbeats


def record_heartbeat() -> None:
    """Record that a worker is alive now."""
    Heartbeat.objects.update_or_create(part=WORKER, defaults={"at": now()})


def delete_heartbeat() -> None:
    """Delete the heartbeat of an earlier run, so that only the current worker counts as ready."""
    Heartbeat.objects.filter(part=WORKER).delete()


@require_safe
def alive(request: HttpRequest) -> JsonResponse:
    """Return 200 for a liveness probe. Only the web process itself is checked."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Return 200 for a readiness probe if database, broker and a worker are available, else 503."""
    checks = {"database": database_responds, "broker": broker_responds, "worker": worker_has_heartbeat}
    results = {name: check_passes(check) for name, check in checks.items()}
    status = 200 if all(results.values()) else 503
    return JsonResponse({"status": "ok" if status == 200 else "unavailable", "checks": results}, status=status)


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


def worker_has_heartbeat() -> bool:
    """Return whether a worker had a recent heartbeat."""
    return Heartbeat.objects.filter(part=WORKER, at__gte=now() - HEARTBEAT_MAX_AGE).exists()
