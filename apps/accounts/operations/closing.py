"""Closing of accounts: their user has asked for the deletion, and can keep the account within a period of grace."""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.signals import token_revoked


@transaction.atomic
def close_account(user: User) -> None:
    """Have the account deleted after the period of grace. Do nothing if it is closed already."""
    due = timezone.now() + dt.timedelta(days=settings.ACCOUNT_DELETION_DAYS)
    User.objects.filter(pk=user.pk, deletion_due_at=None).update(deletion_due_at=due)
    token_revoked.send(ApiToken, owner_id=user.pk)  # event streams end
    user.refresh_from_db(fields=["deletion_due_at"])


def keep_account(user: User) -> None:
    """Withdraw the request to delete the account."""
    User.objects.filter(pk=user.pk).update(deletion_due_at=None)
    user.refresh_from_db(fields=["deletion_due_at"])
