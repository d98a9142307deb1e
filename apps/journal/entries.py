"""Write entries of the journal: merge dailies, write significant ones, edit, delete, and mark summaries as stale."""

import datetime as dt
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.common import jobs
from apps.common.problems import Invalid
from apps.common.scoping import Owner, owner_id_of
from apps.memories.journal.bullets import append_bullets, chats_in, new_bullets, other_bullets
from apps.memories.journal.periods import Granularity, Period, ancestors, day, parse_period
from apps.memories.models import JournalEntry
from apps.memories.operations.memories import set_text
from apps.text.lexemes import Lexemes

MAX_LENGTH = 200_000  # characters of an entry's text
CONTENT = ["text", "title", "chats", "lexemes", "embedding", "embedding_model", "version", "updated_at"]


@transaction.atomic
def merge_daily(
    owner: Owner, *, period: dt.date, instance: str, text: str, title: str = "", extends: bool = False
) -> tuple[JournalEntry, bool]:
    """Add the bullets of ``text`` to the entry of a day and an instance. Return it, and whether it was created.

    What is there already stays as it is, also what a person edited. A bullet is not added if the entry knows its chat,
    so that merging the same text again changes nothing; ``version`` then stays. A deleted entry comes back only with
    bullets that it did not have. With ``extends``, ``text`` is the rest of a day, whose bullets are new though their
    chats are known. Raise Invalid if the entry becomes too long, or a new one would be empty.
    """
    jobs.lock_owner(owner)
    entries = JournalEntry.objects.for_owner(owner).of_period(day(period))
    entry = entries.filter(instance=instance).first() or new_entry(owner, day(period), instance)
    added = other_bullets(entry.text, text) if extends else new_bullets(entry.text, text, entry.chats)
    is_new = entry._state.adding
    if not added and is_new:
        raise Invalid.at("/text", "It must have at least one bullet.")
    if not added:
        return entry, False
    kept = "" if entry.deleted_at else entry.text
    entry.title = entry.title or title
    entry.deleted_at = None
    set_content(entry, append_bullets(kept, added))
    _save_content(entry, "deleted_at")
    return entry, is_new


@transaction.atomic
def write_significant(
    owner: Owner, *, period: dt.date, title: str, text: str, editor: str, with_vector: bool = True
) -> JournalEntry:
    """Create a significant entry that a person wrote. Raise Invalid if it is too long."""
    entry = new_entry(owner, day(period, Granularity.SIGNIFICANT))
    entry.title, entry.edited_by = title, editor
    set_content(entry, text, with_vector=with_vector)
    entry.save()
    return entry


@transaction.atomic
def edit_entry(entry: JournalEntry, *, editor: str, **changes: Any) -> JournalEntry:
    """Set text or title as a person's correction, which no later run overwrites. Raise Invalid if it is too long."""
    jobs.lock_owner(entry.owner_id)
    entry.refresh_from_db()  # it was read before the lock, and a run may have added bullets since
    entry.edited_by = editor
    entry.title = changes.get("title", entry.title)
    entry.ask_model_at = None  # a model writes over no person's text
    # What a person has read and corrected counts as up to date.
    entry.stale = False
    set_content(entry, changes.get("text", entry.text))
    _save_content(entry, "edited_by", "ask_model_at", "stale")
    return entry


@transaction.atomic
def delete_entry(entry: JournalEntry) -> None:
    """Make an entry a tombstone, which keeps it from being made again."""
    jobs.lock_owner(entry.owner_id)
    entry.deleted_at = entry.deleted_at or timezone.now()
    entry.part_of = None
    entry.save(update_fields=["deleted_at", "part_of", "updated_at"])
    mark_ancestors_stale(entry)


@transaction.atomic
def restore_entry(entry: JournalEntry) -> None:
    """Undo ``delete_entry``."""
    jobs.lock_owner(entry.owner_id)
    entry.deleted_at = None
    entry.save(update_fields=["deleted_at", "updated_at"])
    mark_ancestors_stale(entry)


def new_entry(owner: Owner, period: Period, instance: str = "") -> JournalEntry:
    """Return an unsaved entry without text."""
    return JournalEntry(
        owner_id=owner_id_of(owner),
        granularity=period.granularity.value,
        period=period.name,
        starts=period.first,
        ends=period.last,
        instance=instance,
    )


def set_content(entry: JournalEntry, text: str, *, with_vector: bool = True) -> None:
    """Set the text of an entry with all that is derived from it. Save nothing. Raise Invalid if it is too long.

    ``with_vector`` asks the embedding model, which may be remote.
    """
    if len(text) > MAX_LENGTH:
        raise Invalid.at("/text", f"The entry would be longer than {MAX_LENGTH} characters.")
    if with_vector:
        set_text(entry, text)
    else:
        entry.text, entry.embedding, entry.embedding_model = text, None, ""
    entry.lexemes = Lexemes(f"{entry.title}\n{text}")
    entry.chats = list(dict.fromkeys([*entry.chats, *chats_in(text)]))


def _save_content(entry: JournalEntry, *columns: str) -> None:
    """Save an entry with its new content, and mark as stale what was made from it."""
    if entry._state.adding:
        entry.save()
    else:
        entry.version = F("version") + 1
        entry.save(update_fields=[*CONTENT, *columns])
        entry.refresh_from_db(fields=["version"])
    mark_ancestors_stale(entry)


def mark_ancestors_stale(entry: JournalEntry) -> None:
    """Mark the week, month and year of an entry as stale, as far as they are above its level."""
    for period in ancestors(period_of(entry)):
        rows = JournalEntry.objects.for_owner(entry.owner_id).of_period(period).filter(stale=False)
        rows.update(stale=True, updated_at=timezone.now())


def period_of(entry: JournalEntry) -> Period:
    """Return the period of an entry."""
    return parse_period(Granularity(entry.granularity), entry.period)


def entry_of(owner_id: UUID, period: Period) -> JournalEntry | None:
    """Return the entry of a week, month or year, also if it is a tombstone; None if there is none."""
    return JournalEntry.objects.for_owner(owner_id).of_period(period).first()
