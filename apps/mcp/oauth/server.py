"""The rules of OAuth are oauthlib's. Here is what it asks about clients, grants and tokens."""

from typing import Any
from uuid import UUID

from oauthlib.common import Request
from oauthlib.oauth2 import (
    AuthorizationCodeGrant,
    AuthorizationEndpoint,
    BearerToken,
    InvalidRequestError,
    RefreshTokenGrant,
    RequestValidator,
    RevocationEndpoint,
    TokenEndpoint,
)

from apps.accounts.models import ApiToken
from apps.mcp.models import OAuthClient
from apps.mcp.oauth import grants
from apps.mcp.oauth.origins import SCOPES


class Validator(RequestValidator):
    """Answers of the database to oauthlib. ``request.client`` and ``request.grant`` are rows that it has found."""

    # Clients

    def validate_client_id(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> bool:
        request.client = client_with(client_id)
        return request.client is not None

    def client_authentication_required(self, request: Request, *args: Any, **kwargs: Any) -> bool:
        return False  # no client has a secret

    def authenticate_client_id(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> bool:
        return self.validate_client_id(client_id, request)

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return redirect_uri in request.client.redirect_uris

    def get_default_redirect_uri(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> str | None:
        """Return None: a request without an address is refused."""
        return None

    def validate_response_type(self, client_id: str, response_type: str, *args: Any, **kwargs: Any) -> bool:
        return response_type == "code"

    def validate_grant_type(self, client_id: str, grant_type: str, *args: Any, **kwargs: Any) -> bool:
        return grant_type in ("authorization_code", "refresh_token")

    def is_pkce_required(self, client_id: str, request: Request) -> bool:
        return True

    # Scopes

    def get_default_scopes(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> list[str]:
        return SCOPES

    def validate_scopes(
        self, client_id: str, scopes: list[str], client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return set(scopes) <= set(SCOPES)

    # Codes

    def save_authorization_code(
        self, client_id: str, code: dict[str, str], request: Request, *args: Any, **kwargs: Any
    ) -> None:
        """Store the consent. The code is the grant's, not oauthlib's random one."""
        grant = grants.create_grant(
            request.user,
            request.client,
            scope=token_scope(request.scopes),
            redirect_uri=request.redirect_uri,
            code_challenge=request.code_challenge,
            resource=getattr(request, "resource", None) or "",
        )
        code["code"] = grants.signed(grant, grants.CODE, 0)

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return self._claim(code, grants.CODE, request)

    def get_code_challenge(self, code: str, request: Request) -> str:
        return str(request.grant.code_challenge)

    def get_code_challenge_method(self, code: str, request: Request) -> str:
        return "S256"

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return bool(redirect_uri == request.grant.redirect_uri)

    def invalidate_authorization_code(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the grant has gone on to its next step."""

    # Tokens

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return self._claim(refresh_token, grants.REFRESH_TOKEN, request)

    def get_original_scopes(self, refresh_token: str, request: Request, *args: Any, **kwargs: Any) -> list[str]:
        return scopes_of(request.grant.scope)

    def save_bearer_token(self, token: dict[str, Any], request: Request, *args: Any, **kwargs: Any) -> None:
        grants.issue_token(request.grant, token_scope(request.scopes), token["access_token"])

    def revoke_token(self, token: str, token_type_hint: str, request: Request, *args: Any, **kwargs: Any) -> None:
        """End the grant of an access or refresh token of the client. Do nothing for one that is unknown."""
        found = grants.grant_of_access_token(token, request.client)
        found = found or grants.claim_grant(token, grants.REFRESH_TOKEN, request.client)
        if found is not None:
            grants.end_grant(found)

    def _claim(self, value: str, kind: str, request: Request) -> bool:
        request.grant = grants.claim_grant(value, kind, request.client)
        if request.grant is None:
            return False
        request.user, request.scopes = request.grant.owner, scopes_of(request.grant.scope)
        return True


class Server(AuthorizationEndpoint, TokenEndpoint, RevocationEndpoint):
    """Authorization codes with PKCE by S256, refresh tokens, and revocation; nothing else of OAuth."""

    def __init__(self) -> None:
        validator = Validator()
        code_grant = AuthorizationCodeGrant(validator)
        code_grant.custom_validators.post_auth.append(_require_s256)
        bearer = BearerToken(
            validator,
            token_generator=lambda request: ApiToken.new_secret(),
            expires_in=int(grants.ACCESS_LIFETIME.total_seconds()),
            refresh_token_generator=_refresh_token,
        )
        AuthorizationEndpoint.__init__(
            self, default_response_type="code", response_types={"code": code_grant}, default_token_type=bearer
        )
        TokenEndpoint.__init__(
            self,
            default_grant_type="authorization_code",
            grant_types={"authorization_code": code_grant, "refresh_token": RefreshTokenGrant(validator)},
            default_token_type=bearer,
        )
        RevocationEndpoint.__init__(self, validator)


def _require_s256(request: Request) -> dict[str, Any]:
    """Refuse the method "plain", which is also the default of a request without one."""
    if request.code_challenge_method != "S256":
        raise InvalidRequestError("code_challenge_method must be S256.", request=request)
    return {}


def _refresh_token(request: Request) -> str:
    return grants.signed(request.grant, grants.REFRESH_TOKEN, request.grant.step + 1)


def client_with(client_id: Any) -> OAuthClient | None:
    """Return the client with an id that a request has given, or None."""
    try:
        return OAuthClient.objects.filter(pk=UUID(client_id)).first()
    except (AttributeError, TypeError, ValueError):
        return None


def token_scope(scopes: list[str]) -> str:
    """Return the scope of an API token that has these scopes. To write includes to read."""
    return ApiToken.Scope.WRITE if ApiToken.Scope.WRITE in scopes else ApiToken.Scope.READ


def scopes_of(scope: str) -> list[str]:
    """Return the scopes of OAuth that an API token's scope stands for."""
    return SCOPES if scope == ApiToken.Scope.WRITE else [ApiToken.Scope.READ]


SERVER = Server()
