"""``/metrics``: counters of all processes, and the state of queues and jobs, in the text format of Prometheus."""

import secrets
from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.models import Count, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.common.disk import MEGABYTE, free_megabytes
from apps.common.jobs import OPEN_STATES, Job
from apps.common.metrics import flush, sample
from apps.common.models import Metric
from apps.common.scoping import system_scope

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
HELP = {
    "loci_requests_total": ("counter", "Requests by view, method and status."),
    "loci_request_seconds": ("histogram", "Duration of requests."),
    "loci_problems_total": ("counter", "Errors of the API by type, such as conflicts."),
    "loci_search_seconds": ("histogram", "Duration of searches of memories."),
    "loci_replica_reads_total": ("counter", "Searches and exports by which server answered, where there is a replica."),
    "loci_messages_deduplicated_total": ("counter", "Messages that a repeated append did not store again."),
    "loci_model_calls_total": ("counter", "Calls of connected models."),
    "loci_model_tokens_total": ("counter", "Tokens sent to models and received from them."),
    "loci_jobs_ended_total": ("counter", "Background jobs by kind and how they ended."),
    "loci_jobs": ("gauge", "Background jobs that have not ended."),
    "loci_jobs_oldest_seconds": ("gauge", "Age of the oldest job that waits for a worker."),
    "loci_queue_messages": ("gauge", "Messages in a queue of the broker in the database."),
    "loci_queue_oldest_seconds": ("gauge", "Age of the oldest message in a queue."),
    "loci_database_connections": ("gauge", "Connections to the database by state."),
    "loci_disk_free_bytes": ("gauge", "Free space where least is left: of the data folder or the embedded database."),
}


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all samples to who has the token; without one in the settings, there is no such page."""
    expected = f"Bearer {settings.METRICS_TOKEN}"
    if not settings.METRICS_TOKEN:
        raise Http404
    if not secrets.compare_digest(request.headers.get("Authorization", "").encode(), expected.encode()):
        return HttpResponse("A token is needed.", status=401, headers={"WWW-Authenticate": "Bearer"})
    flush()
    return HttpResponse(exposition(), content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


def exposition() -> str:
    """Return all samples, those of a metric together and after its description."""
    samples = sorted([*_counters(), *_jobs(), *_queues(), *_connections(), *_disk()])
    lines: list[str] = []
    for name, (kind, text) in HELP.items():
        suffixes = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        names = {name + suffix for suffix in suffixes}
        own = [
            f"{key} {value:g}" if value < 1e6 else f"{key} {value:.0f}" for key, value in samples if _name(key) in names
        ]
        if own:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *own]
    return "\n".join(lines) + "\n"


def _name(key: str) -> str:
    return key.partition("{")[0]


def _counters() -> Iterator[tuple[str, float]]:
    yield from Metric.objects.values_list("sample", "value")


def _jobs() -> Iterator[tuple[str, float]]:
    now = timezone.now()
    for model in apps.get_models():
        if not issubclass(model, Job):
            continue
        with system_scope():
            jobs = model.objects.filter(state__in=OPEN_STATES).order_by()
            rows = list(jobs.values_list("state").annotate(Count("pk"), Min("created_at")))
        kind = model._meta.model_name
        for state, number, oldest in rows:
            yield sample("loci_jobs", kind=kind, state=state), number
            if state == Job.State.QUEUED:
                yield sample("loci_jobs_oldest_seconds", kind=kind), round((now - oldest).total_seconds(), 1)


def _queues() -> Iterator[tuple[str, float]]:
    if not settings.BROKER_IN_DATABASE:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT queue_name, queue_length, oldest_msg_age_sec FROM pgmq.metrics_all()")
        for queue, length, age in cursor.fetchall():
            yield sample("loci_queue_messages", queue=queue), length
            yield sample("loci_queue_oldest_seconds", queue=queue), age or 0


def _connections() -> Iterator[tuple[str, float]]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT coalesce(state, 'none'), count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' GROUP BY 1"""
        )
        for state, number in cursor.fetchall():
            yield sample("loci_database_connections", state=state), number


def _disk() -> Iterator[tuple[str, float]]:
    yield "loci_disk_free_bytes", free_megabytes() * MEGABYTE
