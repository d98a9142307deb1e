"""The only writes to users and their tokens."""

import datetime as dt
from typing import Any

from allauth.account.models import EmailAddress
from django.db import transaction

from apps.accounts.models import ApiToken, User
from apps.common import clock


def create_token(
    owner: Any, *, name: str, scope: str = ApiToken.Scope.WRITE, expires_at: dt.datetime | None = None
) -> tuple[ApiToken, str]:
    """A new token and its secret, which can't be read again."""
    secret = ApiToken.new_secret()
    token = ApiToken.objects.create(
        owner_id=owner.pk,
        name=name,
        hint=secret[: len(ApiToken.PREFIX) + 4],
        digest=ApiToken.digest_of(secret),
        scope=scope,
        expires_at=expires_at,
    )
    return token, secret


def revoke_token(token: ApiToken) -> None:
    """From now on it opens nothing. Revoking it again changes nothing."""
    if token.revoked_at is None:
        token.revoked_at = clock.now()
        token.save(update_fields=["revoked_at"])


def note_token_use(token: ApiToken, at: dt.datetime) -> None:
    token.last_used_at = at
    token.save(update_fields=["last_used_at"])


def rename_user(user: User, name: str) -> None:
    user.name = name
    user.save(update_fields=["name"])


@transaction.atomic
def ensure_user(email: str, password: str, *, name: str = "") -> User:
    """The user with this address, which counts as verified, signing in with this password; made if there is none."""
    user = User.objects.filter(email__iexact=email).first() or User.objects.create_user(email, password, name=name)
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    EmailAddress.objects.get_or_create(user=user, email=user.email, defaults={"verified": True, "primary": True})
    return user
