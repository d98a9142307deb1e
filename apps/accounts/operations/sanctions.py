"""Suspend and ban users."""

import datetime as dt

from apps.accounts.models import ApiToken, User
from apps.accounts.signals import token_revoked


def suspend(user: User, *, until: dt.datetime, reason: str) -> None:
    """Let a user read but not write until a time. A longer suspension stays as it is, with its reason."""
    if user.suspended_until and user.suspended_until > until:
        return
    user.suspended_until = until
    user.suspension_reason = reason
    user.save(update_fields=["suspended_until", "suspension_reason"])


def end_suspension(user: User) -> None:
    """Let a user write again."""
    user.suspended_until = None
    user.suspension_reason = ""
    user.save(update_fields=["suspended_until", "suspension_reason"])


def ban(user: User) -> None:
    """Refuse a user's sign-in, sessions and tokens. Event streams end."""
    user.is_active = False
    user.save(update_fields=["is_active"])
    token_revoked.send(ApiToken, owner_id=user.pk)


def lift_ban(user: User) -> None:
    """Let a banned user sign in again."""
    user.is_active = True
    user.save(update_fields=["is_active"])
