"""Show what a user has stored and used, and what is left of their quotas."""

from dataclasses import dataclass
from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from apps.accounts.operations.storage import FRESH, stored_bytes
from apps.chats.quotas import MEGABYTE, chats_of, messages_of
from apps.llm.usage.limits import effective_limit, usage_today


@dataclass(frozen=True)
class Meter:
    """A quantity, and its quota if there is one."""

    label: str
    used: int
    limit: int | None
    unit: str = ""
    note: str = ""

    @property
    def left(self) -> int:
        return max((self.limit or 0) - self.used, 0)

    @property
    def low(self) -> float:
        """Return the value up to which much is left."""
        return 0.75 * (self.limit or 0)

    @property
    def high(self) -> float:
        """Return the value above which little is left."""
        return 0.9 * (self.limit or 0)


@login_required
@require_safe
def usage(request: HttpRequest) -> HttpResponse:
    """Show the meters."""
    owner = cast(UUID, request.user.pk)
    megabytes = -(-stored_bytes(owner, oldest=FRESH) // MEGABYTE)
    meters = [
        Meter(
            gettext("Chats"),
            chats_of(owner),
            settings.QUOTA_CHATS or None,
            note=gettext("Those in the bin are included."),
        ),
        Meter(gettext("Messages"), messages_of(owner), settings.QUOTA_MESSAGES or None),
        Meter(
            gettext("Storage"), megabytes, settings.QUOTA_MEGABYTES or None, "MB", gettext("With the log of changes.")
        ),
        Meter(
            gettext("Tokens today"),
            usage_today(owner),
            effective_limit(owner),
            note=gettext("Of your models; days end at midnight, UTC."),
        ),
    ]
    return render(request, "chats/usage.html", {"meters": meters})
