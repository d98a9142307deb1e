"""What breaks a promise and is not found by one statement: links, files, vectors; and how it is repaired."""

import datetime as dt
from contextlib import suppress
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connection, models
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import ImportJob
from apps.common.jobs import OPEN_STATES, Job
from apps.common.problems import Conflict
from apps.common.scoping import OwnedModel, system_scope
from apps.extraction.jobs.embedding_jobs import count_stale, current_model, start_embedding_job

FILE_AGE = dt.timedelta(days=1)  # a younger file may belong to an import that is just being created
LINKS = """SELECT count(*) FROM "{table}" AS own JOIN "{target}" AS other ON other.id = own."{column}"
    WHERE other.owner_id <> own.owner_id"""


def links_to_other_owners() -> list[str]:
    """Return each foreign key that leads to another owner's row, and of how many rows it does."""
    found = []
    for model in apps.get_models():
        if not issubclass(model, OwnedModel):
            continue
        for field in model._meta.concrete_fields:
            target = field.related_model
            if isinstance(field, models.ForeignKey) and isinstance(target, type) and issubclass(target, OwnedModel):
                names = {"table": model._meta.db_table, "target": target._meta.db_table, "column": field.column}
                with connection.cursor() as cursor:
                    cursor.execute(LINKS.format(**names))
                    number = cursor.fetchone()[0]
                if number:
                    found.append(f"{model._meta.label}.{field.name}: {number}")
    return found


def files_without_import() -> list[str]:
    """Return the files of imports, a day old or more, that no row names."""
    with system_scope():
        known = set(ImportJob.objects.exclude(file="").values_list("file", flat=True))
    before = (timezone.now() - FILE_AGE).timestamp()
    root = Path(settings.MEDIA_ROOT)
    files = (path for path in (root / "imports").glob("*") if path.is_file() and path.stat().st_mtime < before)
    return [str(path) for path in files if str(path.relative_to(root)) not in known]


def imports_without_file() -> list[str]:
    """Return the imports that have not ended and whose file is missing."""
    with system_scope():
        jobs = ImportJob.objects.filter(state__in=OPEN_STATES).exclude(file="")
        return [str(job.pk) for job in jobs if not job.file.storage.exists(str(job.file.name))]


def delete_files(found: list[str]) -> None:
    """Delete files."""
    for path in found:
        Path(path).unlink(missing_ok=True)


def fail_imports(found: list[str]) -> None:
    """End imports whose file is gone."""
    with system_scope():
        jobs = ImportJob.objects.filter(pk__in=found, state__in=OPEN_STATES)
        jobs.update(state=Job.State.FAILED, error="Its file is gone. Import it again.", finished_at=timezone.now())


def owners_without_vectors() -> list[str]:
    """Return the users with texts that are not embedded with their current model, if that is available."""
    return [str(user.pk) for user in User.objects.order_by("pk") if _has_stale_vectors(user)]


def _has_stale_vectors(user: User) -> bool:
    try:
        return count_stale(user, current_model(user)) > 0
    except Conflict:
        return False


def embed(found: list[str]) -> None:
    """Start jobs that embed what has no vector; the scheduler hands them to workers."""
    for user in User.objects.filter(pk__in=found):
        with suppress(Conflict):
            start_embedding_job(user)
