"""Have the journal made on demand."""

import datetime as dt

from django.db import transaction

from apps.accounts.models import User
from apps.journal import tasks
from apps.journal.consolidation import periods_to_make, restore_deleted
from apps.memories.journal.periods import Granularity, Period


@transaction.atomic
def request_consolidation(
    owner: User, now: dt.datetime, *, granularity: Granularity | None = None, period: Period | None = None
) -> list[Period]:
    """Enqueue a consolidation of all that is due, or of ``period`` with those below it. Return what will be made.

    An entry of ``period`` that was deleted is made again, since a person asks for it.
    """
    if period is not None:
        restore_deleted(owner, period)
    tasks.send(owner, granularity, period)
    periods = periods_to_make(owner, now, period=period)
    return [each for each in periods if period or granularity in (None, each.granularity)]
