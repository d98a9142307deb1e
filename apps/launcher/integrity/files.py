"""Find files without rows and rows without files: of imports, of snapshots, and of the mirror."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import Storage
from django.utils import timezone

from apps.chats.models import Chat, ImportJob
from apps.common.jobs import OPEN_STATES, Job
from apps.common.scoping import system_scope
from apps.common.stored_texts import gettext_stored
from apps.snapshots.mirror import file_names, mirror_storage
from apps.snapshots.models import MirrorDeletion, MirroredChat, Snapshot
from apps.snapshots.storing import STRAY_RETENTION

MIRRORED_FILE = re.compile(r"[0-9a-f-]{36}/([0-9a-f-]{36})\.(jsonl|md)")


def files_without_import() -> list[str]:
    """Return the files of imports, a day old or more, that no row names."""
    return _files_without_row(ImportJob)


def files_without_snapshot() -> list[str]:
    """Return the files of snapshots, a day old or more, that no row names."""
    return _files_without_row(Snapshot)


def _files_without_row(model: Any) -> list[str]:
    folder = model._meta.get_field("file").upload_to
    with system_scope():
        known = set(model.objects.exclude(file="").values_list("file", flat=True))
    # A younger file may belong to a row that is just being created.
    before = (timezone.now() - STRAY_RETENTION).timestamp()
    root = Path(settings.MEDIA_ROOT)
    files = (path for path in (root / folder).glob("*") if path.is_file() and path.stat().st_mtime < before)
    return [str(path) for path in files if str(path.relative_to(root)) not in known]


def delete_files(found: list[str]) -> None:
    """Delete files."""
    for path in found:
        Path(path).unlink(missing_ok=True)


def imports_without_file() -> list[str]:
    """Return the imports that have not ended and whose file is missing."""
    with system_scope():
        return _without_file(ImportJob.objects.filter(state__in=OPEN_STATES))


def snapshots_without_file() -> list[str]:
    """Return the snapshots that were made and whose file is missing."""
    with system_scope():
        return _without_file(Snapshot.objects.filter(state=Job.State.SUCCEEDED))


def _without_file(rows: Any) -> list[str]:
    return [str(row.pk) for row in rows if not (row.file and row.file.storage.exists(row.file.name))]


def fail_imports(found: list[str]) -> None:
    """End imports whose file is gone."""
    with system_scope():
        jobs = ImportJob.objects.filter(pk__in=found, state__in=OPEN_STATES)
        jobs.update(
            state=Job.State.FAILED,
            error=gettext_stored("Its file is gone. Import it again."),
            finished_at=timezone.now(),
        )


def chats_missing_in_mirror() -> list[str]:
    """Return the chats that the mirror has written, according to their rows, and of which it lacks a file."""
    storage = mirror_storage()
    if storage is None:
        return []
    stored = set(_names_in(storage))
    with system_scope():
        rows = MirroredChat.objects.select_related("chat").order_by("pk")
        return [str(row.chat_id) for row in rows if not stored.issuperset(file_names(row.chat))]


def mirror_again(found: list[str]) -> None:
    """Have the next sweep write chats into the mirror."""
    with system_scope():
        MirroredChat.objects.filter(chat_id__in=found).delete()


def mirrored_files_without_chat() -> list[str]:
    """Return the files in the mirror whose chat does not exist, and which no sweep is going to delete."""
    storage = mirror_storage()
    files = map(MIRRORED_FILE.fullmatch, _names_in(storage)) if storage else ()
    with system_scope():
        existing = {str(pk) for pk in Chat._base_manager.values_list("pk", flat=True)}
    due = set(MirrorDeletion.objects.values_list("name", flat=True))
    return sorted(file[0] for file in files if file and file[1] not in existing and file[0] not in due)


def _names_in(storage: Storage) -> Iterator[str]:
    """Yield the names of the files in the folders of the mirror, one for each owner."""
    try:
        folders = storage.listdir("")[0]
    except FileNotFoundError:  # the first copy creates it
        return
    for folder in folders:
        yield from (f"{folder}/{name}" for name in storage.listdir(folder)[1])
