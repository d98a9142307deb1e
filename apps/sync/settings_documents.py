"""Read and patch a user's settings: one JSON document, in which each top-level key has its own rev.

Devices that change different keys need not conflict: with ``rebase``, a write with an outdated integrity is accepted if
none of its keys has changed in the meantime.
"""

import datetime as dt
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import OuterRef, Subquery

from apps.chats.dates import timestamp
from apps.chats.locking import Guard
from apps.chats.message_data.layout import dump
from apps.chats.queries.changes import PAGE_BYTES
from apps.common.database.rows import get_or_create_locked
from apps.common.documents.json_patch import PatchTestFailed
from apps.common.documents.patches import DocumentPatch
from apps.common.problems import Conflict, Invalid, ProblemType, TooLarge, pointer_of
from apps.common.scoping import Owner, owner_id_of, system_scope
from apps.sync.live import notify_settings_changed
from apps.sync.models import Setting, SettingsChange, SettingsDocument
from apps.sync.signals import before_forced_settings_write

MAX_KEY_LENGTH = 255


@dataclass(frozen=True)
class SettingsState:
    """The current document. ``revs`` holds the rev of the last change of each key, including deleted keys."""

    owner_id: UUID
    integrity: UUID
    rev: int
    values: dict[str, Any]
    revs: dict[str, int]


class SettingsConflict(Conflict):
    """The settings or, in a rebase, keys of the write have changed since the known state, or that state is unknown."""

    type = ProblemType.INTEGRITY_CONFLICT
    title = "The settings have changed"

    @classmethod
    def for_keys(cls, current: SettingsState, keys: Iterable[str], known_rev: int | None) -> Self:
        """Return a conflict over ``keys``, with the changes since ``known_rev`` if the log still has all of them.

        Changes larger than PAGE_BYTES are left out, and ``reread`` says so.
        """
        state: dict[str, Any] = {"current_integrity": str(current.integrity), "current_rev": current.rev}
        state["conflicts"] = [{"key": key, "theirs": current.values.get(key)} for key in sorted(keys)]
        changes = None if known_rev is None else _changes_since(current, known_rev)
        if changes is not None:
            fits = len(dump(changes).encode()) <= PAGE_BYTES
            state |= {"changes": changes} if fits else {"reread": True}
        return cls("The settings were changed elsewhere in the meantime. Apply the changes and try again.", **state)


@transaction.atomic
def read_settings(owner: Owner) -> SettingsState:
    """Return the owner's settings. Create the document if there is none, since a write needs its integrity."""
    return _load(_lock(owner))


@transaction.atomic
def patch_settings(owner: Owner, patch: DocumentPatch, guard: Guard) -> SettingsState:
    """Apply a patch and return the new settings. A patch that changes nothing is not written.

    A write that skips the check of integrity sends ``before_forced_settings_write`` first, since it may overwrite what
    it doesn't know.
    Raise IntegrityRequired, SettingsConflict, TooLarge, PatchTestFailed, and Invalid if an operation doesn't apply.
    """
    guard.require_integrity()
    keys = _keys(patch)
    document = _lock(owner)
    before = _load(document)
    stale = not guard.force and guard.integrity != before.integrity
    if stale and not _has_no_effect(patch, before):
        _check_rebase(before, keys, guard)
    after = _apply(patch, before)
    changed = [key for key in keys if _json_of(before.values, key) != _json_of(after, key)]
    if not changed:
        return before
    _check_sizes(after, changed)
    if guard.force:
        before_forced_settings_write.send(sender=SettingsDocument, owner_id=before.owner_id)
    _store(document, after, changed, forced=guard.force)
    return _load(document)


def record_restored_settings(owner: Owner, replaced_rev: int) -> None:
    """Give settings that were put in the place of those with ``replaced_rev`` a new rev, later than both."""
    document = _lock(owner)
    document.rev = max(document.rev, replaced_rev)
    _record(document, sorted(_load(document).values), forced=False)


def trim_log(now: dt.datetime) -> int:
    """Delete log entries older than CHANGE_LOG_DAYS, but keep the last CHANGE_LOG_MIN. Return how many were deleted."""
    oldest = now - dt.timedelta(days=settings.CHANGE_LOG_DAYS)
    with system_scope():
        rev = SettingsDocument.objects.filter(owner=OuterRef("owner")).values("rev")
        old = SettingsChange.objects.filter(at__lt=oldest, rev__lte=Subquery(rev) - settings.CHANGE_LOG_MIN)
        return old.delete()[0]


def _keys(patch: DocumentPatch) -> list[str]:
    """Return the sorted top-level keys of the patch. Raise Invalid."""
    if patch.keys is None:
        raise Invalid.at("/operations", "Every path must begin with a key: the document can't be replaced as a whole.")
    too_long = next((key for key in patch.keys if len(key) > MAX_KEY_LENGTH), None)
    if too_long is not None:
        raise Invalid.at(pointer_of(["settings", too_long]), f"A key has at most {MAX_KEY_LENGTH} characters.")
    return sorted(patch.keys)


def _lock(owner: Owner) -> SettingsDocument:
    """Return the owner's document, created if missing, locked until the transaction ends."""
    owner_id = owner_id_of(owner)
    document, created = get_or_create_locked(SettingsDocument.objects.for_owner(owner), owner_id=owner_id)
    if created:
        SettingsChange.objects.create(owner_id=owner_id, rev=document.rev, integrity=document.integrity)
    return document


def _load(document: SettingsDocument) -> SettingsState:
    rows = list(Setting.objects.for_owner(document.owner_id).order_by("pk"))
    return SettingsState(
        document.owner_id,
        document.integrity,
        document.rev,
        values={row.key: row.value for row in rows if not row.deleted},
        revs={row.key: row.rev for row in rows},
    )


def _apply(patch: DocumentPatch, current: SettingsState) -> dict[str, Any]:
    # Each `copy` may double a value: forty of them in a short patch would make a terabyte before a size is checked.
    return patch.apply(current.values, max_copied=settings.SETTINGS_KEY_MAX_BYTES)


def _json_of(values: dict[str, Any], key: str) -> str | None:
    """Return the value as JSON, or None without the key. Unlike Python's ==, this distinguishes 1 from true."""
    return dump(values[key]) if key in values else None


def _has_no_effect(patch: DocumentPatch, current: SettingsState) -> bool:
    """Return whether the patch changes nothing, as when a write is sent twice."""
    try:
        return dump(_apply(patch, current)) == dump(current.values)
    except (Invalid, PatchTestFailed):
        # The patch may have been valid for the settings that the client knew: that is a conflict, not an invalid patch.
        return False


def _check_rebase(current: SettingsState, keys: list[str], guard: Guard) -> None:
    """Raise SettingsConflict if a write with an outdated integrity can't be applied to these keys."""
    changes = SettingsChange.objects.for_owner(current.owner_id)
    base = changes.filter(integrity=guard.integrity).first() if guard.integrity else None
    if base is None:
        raise SettingsConflict.for_keys(current, (), None)
    conflicting = [key for key in keys if current.revs.get(key, 0) > base.rev]
    if conflicting or not guard.rebase:
        raise SettingsConflict.for_keys(current, conflicting, base.rev)


def _changes_since(current: SettingsState, rev: int) -> list[dict[str, Any]] | None:
    """Return the changes after ``rev``, or None if the log no longer has all of them.

    A key stands in the last change that names it, with its current value.
    """
    entries = list(SettingsChange.objects.for_owner(current.owner_id).filter(rev__gt=rev).order_by("rev"))
    if len(entries) != current.rev - rev:
        return None
    last_rev = {key: entry.rev for entry in entries for key in entry.keys}
    return [
        _change_document(entry, current, [key for key in entry.keys if last_rev[key] == entry.rev]) for entry in entries
    ]


def _change_document(change: SettingsChange, current: SettingsState, keys: Iterable[str]) -> dict[str, Any]:
    return {
        "rev": change.rev,
        "integrity": str(change.integrity),
        "at": timestamp(change.at),
        "settings": {key: current.values[key] for key in keys if key in current.values},
        "deleted": [key for key in keys if key not in current.values],
    }


def _check_sizes(after: dict[str, Any], changed: Iterable[str]) -> None:
    """Check the changed keys and the whole document. Raise TooLarge."""
    sizes = {key: len(dump(value).encode()) for key, value in after.items()}
    for key in changed:
        if sizes.get(key, 0) > settings.SETTINGS_KEY_MAX_BYTES:
            detail = f"{key!r} would take {sizes[key]} bytes."
            raise TooLarge(f"{detail} SETTINGS_KEY_MAX_BYTES allows {settings.SETTINGS_KEY_MAX_BYTES}.")
    total = sum(sizes.values()) + sum(len(key.encode()) for key in sizes)
    if total > settings.SETTINGS_MAX_BYTES:
        raise TooLarge(
            f"The settings would take {total} bytes. SETTINGS_MAX_BYTES allows {settings.SETTINGS_MAX_BYTES}."
        )


def _store(document: SettingsDocument, after: dict[str, Any], changed: list[str], *, forced: bool) -> None:
    """Store the changed keys under a new rev and integrity, log the write and notify clients."""
    owner_id, rev = document.owner_id, document.rev + 1
    Setting.objects.bulk_create(
        [
            Setting(owner_id=owner_id, key=key, value=after.get(key), rev=rev, deleted=key not in after)
            for key in changed
        ],
        update_conflicts=True,
        unique_fields=["owner", "key"],
        update_fields=["value", "rev", "deleted"],
    )
    _record(document, changed, forced=forced)


def _record(document: SettingsDocument, changed: list[str], *, forced: bool) -> None:
    """Give the document its next rev and a new integrity, log the write and notify clients."""
    document.rev += 1
    document.integrity = uuid.uuid4()
    document.save(update_fields=["rev", "integrity", "updated_at"])
    owner_id, rev = document.owner_id, document.rev
    SettingsChange.objects.create(owner_id=owner_id, rev=rev, integrity=document.integrity, keys=changed, forced=forced)
    notify_settings_changed(owner_id, rev, document.integrity)
