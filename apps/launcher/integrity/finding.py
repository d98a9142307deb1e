"""What breaks a promise and is not found by one statement: links and vectors; and how it is repaired."""

from contextlib import suppress

from django.apps import apps
from django.db import connection, models

from apps.accounts.models import User
from apps.common.problems import Conflict
from apps.common.scoping import OwnedModel
from apps.extraction.jobs.embedding_jobs import count_stale, current_model, start_embedding_job

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
