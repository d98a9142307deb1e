"""A person's settings: one document, of which every top-level key has a rev of its own.

Devices that change different keys never collide: a write whose integrity is behind goes through where none of its
keys was changed since.
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
from apps.chats.formats.layout import dump
from apps.chats.locking import Guard
from apps.common.document_patches import DocumentPatch
from apps.common.json_patch import PatchTestFailed
from apps.common.problems import Conflict, Invalid, ProblemType, TooLarge, pointer_of
from apps.common.scoping import Owner, owner_id_of, system_scope
from apps.sync.live import announce_settings
from apps.sync.models import Setting, SettingsChange, SettingsDocument

MAX_KEY = 255  # characters


@dataclass(frozen=True)
class Settings:
    """The document as it is, with the rev at which each key was changed last, those that are gone included."""

    owner_id: UUID
    integrity: UUID
    rev: int
    values: dict[str, Any]
    revs: dict[str, int]


class SettingsConflict(Conflict):
    """Something that the write touches was changed since, or nothing is known of the integrity."""

    type = ProblemType.INTEGRITY_CONFLICT
    title = "The settings have changed"

    @classmethod
    def over(cls, now: Settings, keys: Iterable[str], known: int | None) -> Self:
        state: dict[str, Any] = {"current_integrity": str(now.integrity), "current_rev": now.rev}
        state["conflicts"] = [{"key": key, "theirs": now.values.get(key)} for key in sorted(keys)]
        changes = None if known is None else _changes_since(now, known)
        if changes is not None:
            state["changes"] = changes
        return cls("The settings were changed elsewhere since. Apply the changes and try again.", **state)


@transaction.atomic
def read_settings(owner: Owner) -> Settings:
    """The owner's settings; the first read makes the document, so that there is an integrity to write with."""
    return _state(_lock(owner))


@transaction.atomic
def patch_settings(owner: Owner, patch: DocumentPatch, guard: Guard) -> Settings:
    """Change the keys that the patch names, all or none; what is in effect already is no write.

    Raises IntegrityRequired, SettingsConflict, TooLarge, PatchTestFailed, and Invalid where an operation doesn't fit.
    """
    guard.check()
    keys = _keys(patch)
    document = _lock(owner)
    before = _state(document)
    stale = not guard.force and guard.integrity != before.integrity
    if stale and not _is_in_effect(patch, before):
        _check_rebase(before, keys, guard)
    after = _applied(patch, before)
    changed = [key for key in keys if _text(before.values, key) != _text(after, key)]
    if not changed:
        return before
    _check_sizes(after, changed)
    _store(document, after, changed)
    return _state(document)


def trim_log(now: dt.datetime) -> int:
    """Forget what is older than CHANGE_LOG_DAYS and not of the last CHANGE_LOG_MIN writes; how many lines that was."""
    oldest = now - dt.timedelta(days=settings.CHANGE_LOG_DAYS)
    with system_scope():
        rev = SettingsDocument.objects.filter(owner=OuterRef("owner")).values("rev")
        old = SettingsChange.objects.filter(at__lt=oldest, rev__lte=Subquery(rev) - settings.CHANGE_LOG_MIN)
        return old.delete()[0]


def _keys(patch: DocumentPatch) -> list[str]:
    """The top-level keys that the patch touches. Raises Invalid."""
    if patch.keys is None:
        raise Invalid.at("/operations", "Every path must begin with a key: the document can't be replaced as a whole.")
    long = next((key for key in patch.keys if len(key) > MAX_KEY), None)
    if long is not None:
        raise Invalid.at(pointer_of(["settings", long]), f"A key has at most {MAX_KEY} characters.")
    return sorted(patch.keys)


def _lock(owner: Owner) -> SettingsDocument:
    """The owner's document, made where there is none, locked until the transaction ends."""
    documents = SettingsDocument.objects.for_owner(owner)
    document, made = documents.get_or_create(owner_id=owner_id_of(owner))
    if made:
        SettingsChange.objects.create(owner_id=owner_id_of(owner), rev=document.rev, integrity=document.integrity)
    return documents.select_for_update().get()


def _state(document: SettingsDocument) -> Settings:
    rows = list(Setting.objects.for_owner(document.owner_id).order_by("pk"))
    return Settings(
        document.owner_id,
        document.integrity,
        document.rev,
        values={row.key: row.value for row in rows if not row.deleted},
        revs={row.key: row.rev for row in rows},
    )


def _applied(patch: DocumentPatch, now: Settings) -> dict[str, Any]:
    return patch.apply(now.values, max_copied=settings.SETTINGS_KEY_MAX_BYTES)


def _text(values: dict[str, Any], key: str) -> str | None:
    """The value as JSON text, which tells 1 and true apart; None where the key is not there."""
    return dump(values[key]) if key in values else None


def _is_in_effect(patch: DocumentPatch, now: Settings) -> bool:
    try:
        return dump(_applied(patch, now)) == dump(now.values)
    except (Invalid, PatchTestFailed):
        # It may well have fitted the state that the client knew.
        return False


def _check_rebase(now: Settings, keys: list[str], guard: Guard) -> None:
    """Raises SettingsConflict."""
    changes = SettingsChange.objects.for_owner(now.owner_id)
    known = changes.filter(integrity=guard.integrity).first() if guard.integrity else None
    if known is None:
        raise SettingsConflict.over(now, (), None)
    contested = [key for key in keys if now.revs.get(key, 0) > known.rev]
    if contested or not guard.rebase:
        raise SettingsConflict.over(now, contested, known.rev)


def _changes_since(now: Settings, rev: int) -> list[dict[str, Any]] | None:
    """The log after ``rev``, with the values as they are now; None where it doesn't hold all of it."""
    entries = list(SettingsChange.objects.for_owner(now.owner_id).filter(rev__gt=rev).order_by("rev"))
    if len(entries) != now.rev - rev:
        return None
    return [
        {
            "rev": entry.rev,
            "integrity": str(entry.integrity),
            "at": timestamp(entry.at),
            "settings": {key: now.values[key] for key in entry.keys if key in now.values},
            "deleted": [key for key in entry.keys if key not in now.values],
        }
        for entry in entries
    ]


def _check_sizes(after: dict[str, Any], changed: Iterable[str]) -> None:
    """Raises TooLarge."""
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


def _store(document: SettingsDocument, after: dict[str, Any], changed: list[str]) -> None:
    document.rev += 1
    document.integrity = uuid.uuid4()
    document.save(update_fields=["rev", "integrity", "updated_at"])
    owner_id, rev = document.owner_id, document.rev
    Setting.objects.bulk_create(
        [
            Setting(owner_id=owner_id, key=key, value=after.get(key), rev=rev, deleted=key not in after)
            for key in changed
        ],
        update_conflicts=True,
        unique_fields=["owner", "key"],
        update_fields=["value", "rev", "deleted"],
    )
    SettingsChange.objects.create(owner_id=owner_id, rev=rev, integrity=document.integrity, keys=changed)
    announce_settings(owner_id, rev, document.integrity)
