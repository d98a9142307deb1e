"""The worker's sign of life."""

from celery import shared_task

from apps.common.health import note_heartbeat


@shared_task
def record_heartbeat(**kwargs: object) -> None:
    """Note the time; arriving here proves that beat, broker, worker and database work together."""
    note_heartbeat()
