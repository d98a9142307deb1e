"""Storage that a user's rows take, with that of the change log."""

# ruff: noqa: S608 - composed of names of our own tables

import datetime as dt

from django.apps import apps
from django.db import connection
from django.utils import timezone

from apps.accounts.models import StorageUse, User
from apps.common.database.restriction import restricted_to
from apps.common.scoping import OwnedModel, Owner, owner_id_of

FRESH = dt.timedelta(minutes=10)  # for which a count is shown before the rows are counted again


def stored_bytes(owner: Owner, *, oldest: dt.timedelta | None = None) -> int:
    """Return the bytes of the user's rows as last counted. Count them if that was longer ago than ``oldest``."""
    row = StorageUse.objects.for_owner(owner).first()
    if oldest is not None and (row is None or row.counted_at < timezone.now() - oldest):
        row = count_storage(owner)
    return row.bytes if row else 0


def count_storage(owner: Owner) -> StorageUse:
    """Count the bytes of the user's rows as they are stored, without indexes, and keep the number."""
    tables = (model._meta.db_table for model in apps.get_models() if issubclass(model, OwnedModel))
    sizes = " UNION ALL ".join(
        f'SELECT sum(pg_column_size(row_of.*)) AS size FROM "{table}" AS row_of WHERE owner_id = %(owner)s'
        for table in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(sum(size), 0) FROM ({sizes}) AS sizes", {"owner": owner_id_of(owner)})
        [size] = cursor.fetchone()
    values = {"bytes": int(size), "counted_at": timezone.now()}
    return StorageUse.objects.for_owner(owner).update_or_create(
        defaults=values, create_defaults={"owner_id": owner_id_of(owner), **values}
    )[0]


def count_all() -> None:
    """Count the storage of all active users."""
    for user_id in list(User.objects.filter(is_active=True).values_list("pk", flat=True)):
        with restricted_to(user_id):
            count_storage(user_id)
