"""What became of an add, and what its run's memories get of it."""

from typing import Any

from django.db.models import QuerySet

from apps.common.jobs.models import OPEN_STATES
from apps.common.scoping import Owner
from apps.extraction.models import ExtractionRun
from apps.mem0.models import Mem0Event
from apps.memories.models import Memory, MemorySource

STATUSES = {"queued": "PENDING", "paused": "PENDING", "running": "RUNNING", "succeeded": "SUCCEEDED"}


def events_of(owner: Owner) -> QuerySet[Mem0Event]:
    """Return the owner's events, newest first."""
    rows: QuerySet[Mem0Event] = Mem0Event.objects.for_owner(owner).filter(chat__deleted_at=None)
    return rows.select_related("run", "first", "last").order_by("-pk")


def status_of(event: Mem0Event) -> str:
    """Return the status in mem0's words. A run that was deleted meanwhile had ended."""
    return STATUSES.get(event.run.state, "FAILED") if event.run else "SUCCEEDED"


def memories_of(event: Mem0Event) -> QuerySet[Memory]:
    """Return the memories that an add has made so far: its own, or those of its run that come from its messages."""
    rows: QuerySet[Memory] = Memory.objects.for_owner(event.owner_id).undeleted().order_by("pk")
    if event.run is None or event.first is None or event.last is None:
        return rows.filter(pk__in=event.memories)
    sources = MemorySource.objects.for_owner(event.owner_id).filter(
        message__chat=event.chat_id, message__index__range=(event.first.index, event.last.index)
    )
    return rows.filter(run=event.run, pk__in=sources.values("memory"))


def on_run_changed(job: ExtractionRun, state: str, **kwargs: Any) -> None:
    """Give the memories of a run that has ended what its adds ask for, in the transaction that ends it."""
    if state in OPEN_STATES:
        return
    # Several adds may have joined one run, each with metadata of its own for what comes from its messages.
    for event in events_of(job.owner_id).filter(run=job).order_by("pk"):
        if event.metadata or event.tags or event.expires_at:
            memories_of(event).update(metadata=event.metadata, tags=event.tags, expires_at=event.expires_at)
