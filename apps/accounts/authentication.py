"""Who a request of a program is: the bearer of an API token."""

import datetime as dt
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from apps.accounts.models import ApiToken, User
from apps.accounts.operations import note_token_use
from apps.common import clock

# A list of tokens that says "used a minute ago" is exact enough, and a read stays a read.
USE_NOTED_EVERY = dt.timedelta(minutes=1)


class BearerAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``. A token that is unknown, revoked or expired is a 401, never anonymous."""

    keyword = b"bearer"

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != self.keyword:
            return None
        if len(parts) != 2:
            raise AuthenticationFailed("The Authorization header must be: Bearer <token>.")
        now = clock.now()
        token = ApiToken.objects.authenticate(parts[1].decode("latin-1"), now)
        if token is None:
            raise AuthenticationFailed("This token is unknown, revoked or expired.")
        if token.last_used_at is None or now - token.last_used_at > USE_NOTED_EVERY:
            note_token_use(token, now)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="loci"'


class TokenScope(BasePermission):
    """A token with the scope ``read`` reads only."""

    message = "This token may only read."

    def has_permission(self, request: Request, view: Any) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken) or request.method in SAFE_METHODS:
            return True
        return token.scope == ApiToken.Scope.WRITE or getattr(view, "reads_only", False)


class BearerScheme(OpenApiAuthenticationExtension):
    target_class = "apps.accounts.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A personal API token."}
