"""Celery tasks of the journal.

It is kept when an hour begins in the owner's time zone, and at start-up: dailies of days that are over, then weeks,
months and years that are due (``due_at`` of ``periods``) or stale.
"""

import datetime as dt
from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import beat_init
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.suspension import able_users
from apps.common.database.restriction import restrict
from apps.common.scoping import Owner, owner_id_of, system_scope
from apps.journal.consolidation import consolidate_all, periods_to_make
from apps.journal.dailies import write_dailies
from apps.journal.rewriting import rewrite_due
from apps.memories.journal.periods import Granularity, Period, parse_period
from apps.memories.models import JournalEntry, Memory

SWEEP_EVERY = 15  # minutes, as CELERY_BEAT_SCHEDULE has it: zones differ from UTC by quarters of an hour


@shared_task
def sweep_journals(*, minute: int | None = None, **kwargs: Any) -> None:
    """Enqueue the journal of each owner who has something to keep; with ``minute``, where an hour begins then."""
    with system_scope():
        has_entries = Exists(JournalEntry.objects.filter(owner=OuterRef("pk")))
        has_memories = Exists(Memory.objects.filter(owner=OuterRef("pk")))
        owners = list(able_users().filter(has_entries | has_memories))
    now = timezone.now()
    for owner in owners:
        if minute is None or begins_hours_at(owner.zone, now) == minute:
            keep_journal.delay(owner_id=str(owner.pk))


def begins_hours_at(zone: dt.tzinfo, now: dt.datetime) -> int:
    """Return the minute of UTC's hour, of those of the sweeps, at which the journal of a zone is kept: once an hour."""
    offset = now.astimezone(zone).utcoffset() or dt.timedelta()
    begins = -(offset // dt.timedelta(minutes=1)) % 60
    # Nepal's hours (UTC+5:45) begin at 15 minutes past UTC's. Odd minutes are rounded up to the next sweep: rounded
    # down, a day would be written before it is over.
    return -(-begins // SWEEP_EVERY) * SWEEP_EVERY % 60


@shared_task
def keep_journal(*, owner_id: str, granularity: str = "", period: str = "", **kwargs: Any) -> None:
    """Write the dailies of an owner, then what is due above them, or one period."""
    restrict(UUID(owner_id))
    owner = able_users().filter(pk=owner_id).first()
    if owner is not None:
        keep(owner, timezone.now(), Granularity(granularity) if granularity else None, period)
        rewrite_journal.delay(owner_id=owner_id)


@shared_task
def rewrite_journal(*, owner_id: str, **kwargs: Any) -> None:
    """Have a connected model write what waits for it."""
    restrict(UUID(owner_id))
    if rewrite_due(UUID(owner_id), timezone.now()):
        rewrite_journal.delay(owner_id=owner_id)


@beat_init.connect
def catch_up(**kwargs: Any) -> None:
    """Make what was missed while the installation was off: the schedule's next sweep may be an hour away."""
    sweep_journals.delay()


def keep(owner: User, now: dt.datetime, granularity: Granularity | None = None, name: str = "") -> int:
    """Write dailies and make the periods that are due, or the named one. Return how many entries were written."""
    period = parse_period(granularity, name) if granularity and name else None
    written = write_dailies(owner, now)
    # What a level makes can make the next one due, so that the periods are listed again for each.
    return written + sum(
        consolidate_all(periods_to_make(owner, now, granularity=level, period=period), owner)
        for level in (Granularity.WEEKLY, Granularity.MONTHLY, Granularity.YEARLY)
        if granularity is None or period or level == granularity
    )


def send(owner: Owner, granularity: Granularity | None, period: Period | None) -> None:
    """Enqueue ``keep_journal`` when the transaction is committed."""
    names = {"granularity": granularity or "", "period": period.name if period else ""}
    task = partial(keep_journal.delay, owner_id=str(owner_id_of(owner)), **names)
    transaction.on_commit(task)
