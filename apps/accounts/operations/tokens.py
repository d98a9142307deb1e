"""Create, revoke and use API tokens."""

import datetime as dt

from django.utils import timezone

from apps.accounts.models import ApiToken
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
