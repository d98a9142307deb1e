"""What becomes of a consent: a code, then an API token that is renewed by refresh tokens, until it is revoked."""

import datetime as dt

from django.core import signing
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.operations import create_renewable_token, renew_token, revoke_token
from apps.common.scoping import Owner, owner_id_of
from apps.mcp.models import OAuthClient, OAuthGrant

CODE_LIFETIME = dt.timedelta(minutes=2)
ACCESS_LIFETIME = dt.timedelta(hours=1)
REFRESH_LIFETIME = dt.timedelta(days=90)  # without any use
CODE = "oauth-code"
REFRESH_TOKEN = "oauth-refresh-token"  # noqa: S105 - the name of a kind of tokens


def create_grant(
    owner: Owner, client: OAuthClient, *, scope: str, redirect_uri: str, code_challenge: str, resource: str
) -> OAuthGrant:
    """Store a user's consent."""
    return OAuthGrant.objects.create(
        owner_id=owner_id_of(owner),
        client=client,
        scope=scope,
        redirect_uri=redirect_uri,
        code_challenge=code_challenge,
        resource=resource,
    )


def signed(grant: OAuthGrant, kind: str, step: int) -> str:
    """Return the code or the refresh token of a grant at a step."""
    return signing.dumps([str(grant.pk), step], salt=kind)


def claim_grant(value: str, kind: str, client: OAuthClient) -> OAuthGrant | None:
    """Return the locked grant that a code or a refresh token of a client is good for, or None.

    One that was used before ends the grant: either the client or a thief has used it. Call it in a transaction that is
    committed either way.
    """
    lifetime = CODE_LIFETIME if kind == CODE else REFRESH_LIFETIME
    try:
        grant_id, step = signing.loads(value, salt=kind, max_age=lifetime)
    except signing.BadSignature:
        return None
    grants = OAuthGrant.objects.select_for_update(of=("self",)).select_related("token", "client", "owner")
    grant = grants.filter(pk=grant_id, client=client).first()
    if grant is None or not _is_open(grant):
        return None
    if grant.step != step:
        end_grant(grant)
        return None
    return grant


def _is_open(grant: OAuthGrant) -> bool:
    """Return whether neither the grant nor its owner's account has ended."""
    owner: User = grant.owner
    is_revoked = grant.token is not None and grant.token.revoked_at is not None
    return owner.is_active and owner.deletion_due_at is None and not is_revoked


def end_grant(grant: OAuthGrant) -> None:
    """Revoke the token of a grant, which ends its refresh tokens too. A code without a token is used up."""
    if grant.token is not None:
        revoke_token(grant.token)
    else:
        grant.delete()


def issue_token(grant: OAuthGrant, scope: str, secret: str) -> None:
    """Store the access token of the grant's next step. The one before it ends."""
    now = timezone.now()
    lifetime = {"expires_at": now + ACCESS_LIFETIME, "renewable_until": now + REFRESH_LIFETIME}
    if grant.token is None:
        grant.token = create_renewable_token(grant.owner, secret, name=grant.client.name, scope=scope, **lifetime)
    else:
        renew_token(grant.token, secret, scope=scope, **lifetime)
    grant.step += 1
    grant.save(update_fields=["token", "step"])


def grant_of_access_token(secret: str, client: OAuthClient) -> OAuthGrant | None:
    """Return the grant whose access token this is."""
    return OAuthGrant.objects.filter(token__digest=ApiToken.digest_of(secret), client=client).first()


def delete_unused(at: dt.datetime) -> None:
    """Delete codes that were never exchanged, tokens that nobody renewed, and programs that nobody uses any more."""
    OAuthGrant.objects.filter(token=None, created_at__lt=at - dt.timedelta(days=1)).delete()
    ApiToken.objects.filter(renewable_until__lt=at).delete()
    OAuthClient.objects.filter(grants=None, created_at__lt=at - dt.timedelta(days=7)).delete()
