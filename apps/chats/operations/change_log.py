"""Delete old entries of the change logs."""

import datetime as dt

from django.conf import settings
from django.db.models import F

from apps.chats.models import ChatChange
from apps.common.scoping import system_scope

BATCH_SIZE = 5_000  # entries deleted at a time, each batch in its own transaction


def trim_change_logs(now: dt.datetime) -> int:
    """Delete entries older than CHANGE_LOG_DAYS, except the last CHANGE_LOG_MIN of each chat. Return their number."""
    oldest = now - dt.timedelta(days=settings.CHANGE_LOG_DAYS)
    deleted = 0
    with system_scope():
        old = ChatChange.objects.filter(at__lt=oldest, rev__lte=F("chat__rev") - settings.CHANGE_LOG_MIN)
        while ids := list(old.order_by("at").values_list("pk", flat=True)[:BATCH_SIZE]):
            deleted += ChatChange.objects.filter(pk__in=ids).delete()[0]
    return deleted
