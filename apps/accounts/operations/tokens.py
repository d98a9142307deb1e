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
    namespace: str = "",
) -> tuple[ApiToken, str]:
    """Create a token, bound to an instance or a namespace if one is given.

    Return it and its secret, which is not stored.
    """
    secret = ApiToken.new_secret()
    fields = {"name": name, "scope": scope, "expires_at": expires_at, "instance": instance, "namespace": namespace}
    return ApiToken.objects.create(owner_id=owner_id_of(owner), **_fields_of(secret), **fields), secret


def create_renewable_token(
    owner: Owner, secret: str, *, name: str, scope: str, expires_at: dt.datetime, renewable_until: dt.datetime
) -> ApiToken:
    """Create a token of a program that signed in by OAuth, with a secret that its library made."""
    fields = {"name": name, "scope": scope, "expires_at": expires_at, "renewable_until": renewable_until}
    return ApiToken.objects.create(owner_id=owner_id_of(owner), **_fields_of(secret), **fields)


def renew_token(
    token: ApiToken, secret: str, *, scope: str, expires_at: dt.datetime, renewable_until: dt.datetime
) -> None:
    """Replace the secret of a renewable token. The old one is refused from now on."""
    changes = {"scope": scope, "expires_at": expires_at, "renewable_until": renewable_until, **_fields_of(secret)}
    for name, value in changes.items():
        setattr(token, name, value)
    token.save(update_fields=list(changes))


def _fields_of(secret: str) -> dict[str, str]:
    return {"hint": secret[: len(ApiToken.PREFIX) + 4], "digest": ApiToken.digest_of(secret)}


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
