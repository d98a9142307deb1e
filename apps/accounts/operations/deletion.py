"""Delete accounts with all that belongs to them."""

# ruff: noqa: S608 - composed of names of our own tables

import datetime as dt
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import structlog
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.signals import account_deleting
from apps.common.database.restriction import restricted_to
from apps.common.scoping import OwnedModel

log = structlog.get_logger(__name__)


def delete_due_accounts(now: dt.datetime) -> int:
    """Delete the accounts whose period of grace has ended, each in a transaction. Return how many.

    One that can't be deleted is logged, and tried again the next time.
    """
    due = User.objects.filter(deletion_due_at__lte=now).order_by("deletion_due_at").values_list("pk", flat=True)
    deleted = 0
    for user_id in list(due):
        try:
            with restricted_to(user_id):
                deleted += _delete_if_due(user_id, now)
        except Exception:
            log.exception("account_not_deleted", user=str(user_id))
    return deleted


@transaction.atomic
def _delete_if_due(user_id: UUID, now: dt.datetime) -> bool:
    # The lock makes who adds a row for this owner meanwhile wait, and fail then.
    user = User.objects.select_for_update().filter(pk=user_id, deletion_due_at__lte=now).first()
    if user:
        delete_account(user)
    return user is not None


@transaction.atomic
def delete_account(user: User) -> None:
    """Delete a user with every row of theirs; files once the transaction is committed.

    Rows go table by table in one statement each: Django would first read all of them. Their foreign keys are checked
    at the end.
    """
    account_deleting.send(User, owner_id=user.pk)
    with connection.cursor() as cursor:
        for sql in _statements():
            cursor.execute(sql, {"owner": user.pk})
    key = str(user.pk)
    # The log of the admin site stays, without the address.
    LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=key).update(object_repr=key)
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.get_decoded().get(SESSION_KEY) == key:
            session.delete()
    user.delete()


def _statements() -> Iterator[str]:
    """Yield the statements that delete the rows of an ``owner``: of relations first, which are found by owned rows."""
    owned = [model for model in apps.get_models() if issubclass(model, OwnedModel)]
    for model in owned:
        for relation in model._meta.many_to_many:
            through: Any = relation.remote_field.through
            if not issubclass(through, OwnedModel):
                rows = f'SELECT id FROM "{model._meta.db_table}" WHERE owner_id = %(owner)s'
                yield f'DELETE FROM "{through._meta.db_table}" WHERE "{relation.m2m_column_name()}" IN ({rows})'
    for model in owned:
        yield f'DELETE FROM "{model._meta.db_table}" WHERE owner_id = %(owner)s'
