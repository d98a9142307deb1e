"""Is this process alive, and is the installation ready to serve?"""

import datetime as dt
from collections.abc import Callable

from celery import current_app
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from apps.common.clock import now
from apps.common.models import Heartbeat

WORKER = "worker"
HEARTBEAT_MAX_AGE = dt.timedelta(seconds=60)  # four beats missed


def note_heartbeat() -> None:
    """Record that a worker is alive now."""
    Heartbeat.objects.update_or_create(part=WORKER, defaults={"at": now()})


def forget_heartbeat() -> None:
    """Forget the worker of an earlier run, so that readiness speaks of this one."""
    Heartbeat.objects.filter(part=WORKER).delete()


@require_safe
def alive(request: HttpRequest) -> JsonResponse:
    """200 proves that the web process answers, and nothing else: for deciding on a restart."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 proves that the database and the broker answer and that a worker was alive of late; else 503."""
    checks = {"database": database_answers, "broker": broker_answers, "worker": worker_was_seen}
    results = {name: passes(check) for name, check in checks.items()}
    status = 200 if all(results.values()) else 503
    return JsonResponse({"status": "ok" if status == 200 else "unavailable", "checks": results}, status=status)


def passes(check: Callable[[], bool]) -> bool:
    """Whether a check holds; whatever it raises is a no, since drivers raise all kinds of things."""
    try:
        return check()
    except Exception:
        return False


def database_answers() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return cursor.fetchone() == (1,)


def broker_answers() -> bool:
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=3)
        return bool(broker.connected)


def worker_was_seen() -> bool:
    return Heartbeat.objects.filter(part=WORKER, at__gte=now() - HEARTBEAT_MAX_AGE).exists()
