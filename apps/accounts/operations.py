"""The only writes to users and their tokens."""

import datetime as dt
from typing import Any

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
