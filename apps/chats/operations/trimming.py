"""Delete old entries of the change logs."""

import datetime as dt
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F

from apps.chats.models import Chat, ChatChange
from apps.common.scoping import system_scope

BATCH_SIZE = 5_000  # entries deleted at a time, each batch in its own transaction


def trim_change_logs(now: dt.datetime) -> int:
    """Delete entries older than CHANGE_LOG_DAYS, except the last CHANGE_LOG_MIN of each chat. Return their number.

    Those that stay lose the earlier texts, which only an undo needs. Chats that are in use at this moment are left to
    the next call.
    """
    oldest = now - dt.timedelta(days=settings.CHANGE_LOG_DAYS)
    with system_scope():
        _forget_texts(oldest)
        old = ChatChange.objects.filter(at__lt=oldest, rev__lte=F("chat__rev") - settings.CHANGE_LOG_MIN)
        chat_ids = list(old.order_by("chat").values_list("chat", flat=True).distinct())
        return sum(_trim(old.filter(chat=chat_id), chat_id) for chat_id in chat_ids)


def _forget_texts(oldest: dt.datetime) -> None:
    """Remove earlier states from old entries: deleted text is gone once the time for an undo is over."""
    entries = ChatChange.objects.filter(at__lt=oldest, before__isnull=False)
    while ids := list(entries.values_list("pk", flat=True)[:BATCH_SIZE]):
        ChatChange.objects.filter(pk__in=ids).update(before=None)


def _trim(entries: Any, chat_id: UUID) -> int:
    """Delete entries of one chat. Return their number."""
    deleted = 0
    while count := _trim_batch(entries, chat_id):
        deleted += count
    return deleted


@transaction.atomic
def _trim_batch(entries: Any, chat_id: UUID) -> int:
    # Who reads the log holds the chat's lock, and must not find it shorter from one statement to the next.
    if not Chat._base_manager.select_for_update(skip_locked=True, of=("self",)).filter(pk=chat_id).exists():
        return 0
    ids = list(entries.order_by("rev").values_list("pk", flat=True)[:BATCH_SIZE])  # the log must not have holes
    count: int = ChatChange.objects.filter(pk__in=ids).delete()[0]
    return count
