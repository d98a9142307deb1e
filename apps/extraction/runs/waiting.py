"""Let runs wait whose model can't be called. Sweeps continue them when their wait is over, or a new connection does."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.common import jobs
from apps.extraction.models import ExtractionRun
from apps.extraction.runs.operations import resume_run
from apps.llm.generation import GenerationFailed, LimitReached, Misconfigured, TransientFailure

FIRST_WAIT = dt.timedelta(minutes=1)  # doubled for each further failure in a row
MAX_WAIT = dt.timedelta(hours=4)
_Reason = ExtractionRun.WaitReason


@contextmanager
def wait_on_failure(run: ExtractionRun) -> Iterator[None]:
    """Let a claimed run wait if a call of its model fails in the block; its finished steps are kept.

    It waits as long as the server asks for, or minutes that double up to MAX_WAIT; to the next day if the daily limit
    is reached; and if the connection is wrong, until that is corrected.
    """
    try:
        yield
    except LimitReached as failure:
        jobs.postpone(run, failure.detail, _next_day(), waits_for=_Reason.LIMIT)
    except Misconfigured as failure:
        jobs.postpone(run, failure.detail, None, waits_for=_Reason.CONNECTION)
    except GenerationFailed as failure:
        run.refresh_from_db(fields=["waits"])  # a finished step has reset it
        wait = min(FIRST_WAIT * 2 ** min(run.waits, 10), MAX_WAIT)
        if isinstance(failure, TransientFailure) and failure.retry_after is not None:
            wait = dt.timedelta(seconds=min(failure.retry_after, dt.timedelta(days=1).total_seconds()))
        jobs.postpone(run, failure.detail, timezone.now() + wait, waits_for=_Reason.SERVER, waits=run.waits + 1)


def _next_day() -> dt.datetime:
    """Return the next midnight in UTC, when a new day's tokens may be used."""
    today = timezone.now().astimezone(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + dt.timedelta(days=1)


def on_generation_changed(owner_id: UUID, **kwargs: Any) -> None:
    """Resume the owner's runs that wait because their model could not be called, and send the others to their queue."""
    runs = ExtractionRun.objects.for_owner(owner_id)
    for run in list(runs.filter(state=ExtractionRun.State.QUEUED, wait_until=None)):
        jobs.send_on_commit(run)  # its message may be in the queue that it has left
    reasons = (_Reason.SERVER, _Reason.LIMIT, _Reason.CONNECTION)
    for run in list(runs.filter(state__in=("queued", "paused"), waits_for__in=reasons)):
        resume_run(run)
