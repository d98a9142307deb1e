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
HEARTBEAT_MAX_AGE = dt.timedelta(seconds=60)  # four intervals


def note_heartbeat() -> None:
    """Record that a worker is alive now."""
    Heartbeat.objects.update_or_create(part=WORKER, defaults={"at": now()})


def forget_heartbeat() -> None:
    """Delete the heartbeat of an earlier start, so that readiness means the present worker."""
    Heartbeat.objects.filter(part=WORKER).delete()


@require_safe
def alive(request: HttpRequest) -> JsonResponse:
    """Reply 200: liveness probe of the web process, which checks nothing else."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Reply 200 if database and broker respond and a worker had a recent heartbeat, else 503: readiness probe."""
    checks = {"database": database_answers, "broker": broker_answers, "worker": worker_was_seen}
    results = {name: passes(check) for name, check in checks.items()}
    status = 200 if all(results.values()) else 503
    return JsonResponse({"status": "ok" if status == 200 else "unavailable", "checks": results}, status=status)


def passes(check: Callable[[], bool]) -> bool:
    """Return a check's result, False for any exception: drivers raise many kinds."""
    try:
        return check()
    except Exception:
        return False


def database_answers() -> bool:
    """Return whether a query succeeds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return cursor.fetchone() == (1,)


def broker_answers() -> bool:
    """Return whether a connection to the broker can be opened."""
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=3)
        return bool(broker.connected)


def worker_was_seen() -> bool:
    """Return whether a worker had a recent heartbeat."""
    return Heartbeat.objects.filter(part=WORKER, at__gte=now() - HEARTBEAT_MAX_AGE).exists()
