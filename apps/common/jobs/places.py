"""The place of a job in its queue."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Count, Q
from django.utils import timezone

from apps.common.jobs.models import Job
from apps.common.jobs.turns import SINCE, Kind, kinds, queue_of
from apps.common.scoping import system_scope

PLACE = "Of a queued job: about how many turns it takes until it runs, 1 if it comes next. Else null."  # in the API


def place_in_queue(job: Job) -> int | None:
    """Return about how many turns it takes until a job runs if none is added: 1 if it comes next.

    Return None unless it waits for a worker, and if its kind takes no turns.
    """
    takes_turns = any(kind.model is type(job) for kind in kinds)
    if not takes_turns or job.state != Job.State.QUEUED or job.is_waiting:
        return None
    queue = queue_of(type(job), job.pk)
    of_queue = [kind for kind in kinds if kind.queue == queue]
    with system_scope():
        own = _order_of_own(of_queue, job.owner_id)
        others = _counts_of_others(of_queue, job.owner_id)
    place = own.index(job.pk) + 1 if job.pk in own else 1  # it may have begun a moment ago
    return place + sum(min(place, count) for count in others)


def _order_of_own(of_queue: Sequence[Kind], owner_id: UUID) -> list[UUID]:
    """Return the owner's jobs that wait, in the order of their turns: what is awaited first, the kinds by turns."""
    turns = []
    for kind in of_queue:
        rows: Any = kind.model.objects.filter(_is_queued(), kind.only(), owner=owner_id)
        rows = rows.annotate(since=SINCE, is_asked=kind.model.is_awaited())
        numbers: Counter[bool] = Counter()
        for is_awaited, since, pk in rows.order_by("since", "pk").values_list("is_asked", "since", "pk"):
            numbers[is_awaited] += 1
            turns.append((not is_awaited, numbers[is_awaited], since, pk))
    return [pk for *_, pk in sorted(turns)]


def _counts_of_others(of_queue: Sequence[Kind], owner_id: UUID) -> list[int]:
    """Return how many jobs of each other owner wait."""
    counts: Counter[UUID] = Counter()
    for kind in of_queue:
        rows = kind.model.objects.filter(_is_queued(), kind.only(), owner__is_active=True).exclude(owner=owner_id)
        counts.update(dict(rows.order_by().values_list("owner_id").annotate(Count("pk"))))
    return list(counts.values())


def _is_queued() -> Q:
    return Q(state=Job.State.QUEUED) & (Q(wait_until=None) | Q(wait_until__lte=timezone.now()))
