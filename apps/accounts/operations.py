"""Create and change users and their tokens. No other module writes them."""

import datetime as dt

from allauth.account.models import EmailAddress
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.signals import token_revoked
from apps.common.scoping import Owner, owner_id_of


def create_token(
    owner: Owner,
    *,
    name: str,
    scope: str = ApiToken.Scope.WRITE,
    expires_at: dt.datetime | None = None,
    instance: str = "",
) -> tuple[ApiToken, str]:
    """Create a token, bound to an instance if one is given. Return it and its secret, which is not stored."""
    secret = ApiToken.new_secret()
    token = ApiToken.objects.create(
        owner_id=owner_id_of(owner),
        name=name,
        hint=secret[: len(ApiToken.PREFIX) + 4],
        digest=ApiToken.digest_of(secret),
        scope=scope,
        expires_at=expires_at,
        instance=instance,
    )
    return token, secret


def revoke_token(token: ApiToken) -> None:
    """Revoke the token. Do nothing if it is revoked already."""
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        token_revoked.send(ApiToken, owner_id=token.owner_id)


def record_token_use(token: ApiToken, at: dt.datetime) -> None:
    """Set the time of the token's last use."""
    token.last_used_at = at
    token.save(update_fields=["last_used_at"])


def edit_profile(user: User, *, name: str, time_zone: str = "", language: str = "") -> None:
    """Set the name and the language of a user, and the time zone if one is given."""
    user.name = name
    user.time_zone = time_zone or user.time_zone
    user.language = language
    user.save(update_fields=["name", "time_zone", "language"])


@transaction.atomic
def ensure_user(email: str, password: str, *, name: str = "") -> User:
    """Create the user with this address, or set their password. Mark the address as verified."""
    user = User.objects.filter(email__iexact=email).first() or User.objects.create_user(email, password, name=name)
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    EmailAddress.objects.get_or_create(user=user, email=user.email, defaults={"verified": True, "primary": True})
    return user


def suspend(user: User, *, until: dt.datetime, reason: str) -> None:
    """Let a user read but not write until a time. A longer suspension is not made shorter."""
    user.suspended_until = max(until, user.suspended_until or until)
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
