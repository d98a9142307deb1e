"""Authentication of API requests by bearer token."""

import copy
import datetime as dt
import hashlib
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import APIException, AuthenticationFailed, PermissionDenied
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.settings import api_settings

from apps.accounts.models import ApiToken, User
from apps.accounts.operations import record_token_use
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.restriction import restrict
from apps.common.scoping import Owner, system_scope

REALM = 'Bearer realm="loci"'
ONLY_NAMESPACE = "This token is for one namespace: it may use memories/, namespaces/ and /mem0/, and nothing else."
# The use of a token is recorded at most this often: recording each use would turn every read into a write.
LAST_USED_PRECISION = dt.timedelta(minutes=1)

TOKEN_OF_DIGEST = CompiledQuery(lambda digest: ApiToken.objects.select_related("owner").filter(digest=digest))


class BearerAuthentication(BaseAuthentication):
    """Authenticate by ``Authorization: Bearer <token>``, or ``Token <token>``, which mem0's clients send.

    An invalid token gets a 401, never anonymous access.
    """

    keywords = (b"bearer", b"token")

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return user and token, or None if the request has no bearer token. Raise AuthenticationFailed."""
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() not in self.keywords:
            return None
        if len(parts) != 2:
            raise AuthenticationFailed("The Authorization header must be: Bearer <token>.")
        now = timezone.now()
        token = find_token(parts[1].decode("latin-1"), now)
        if token is None:
            raise AuthenticationFailed("This token is unknown, revoked or expired, or its account is closed.")
        restrict(token.owner_id)
        if token.last_used_at is None or now - token.last_used_at > LAST_USED_PRECISION:
            record_token_use(token, now)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        """Return the WWW-Authenticate header of a 401."""
        return REALM


def authenticated_user_id(request: HttpRequest) -> UUID | None:
    """Return the id of the user that the API's authentication classes recognize, or None. It is found once."""
    return _sender(request)[0]


def authenticated_namespace(request: HttpRequest) -> str:
    """Return the namespace that the token of a request is bound to, or an empty string, before any view."""
    return _sender(request)[1]


def _sender(request: HttpRequest) -> tuple[UUID | None, str]:
    """Return id and namespace of who sends a request. They are found once."""
    found: dict[str, tuple[UUID | None, str]] = request.__dict__
    if "authenticated_sender" not in found:
        found["authenticated_sender"] = _find_sender(request)
    return found["authenticated_sender"]


def _find_sender(request: HttpRequest) -> tuple[UUID | None, str]:
    classes: Any = api_settings.DEFAULT_AUTHENTICATION_CLASSES
    authenticators = [authenticator() for authenticator in classes]
    # A copy, so that the view receives an unchanged request.
    api_request = Request(copy.copy(request), parsers=[NoParser()], authenticators=authenticators)
    try:
        return api_request.user.pk, namespace_of(api_request)
    except APIException:
        return None, ""


class NoParser(BaseParser):
    """Return no data, so that the CSRF check of session authentication doesn't read the body before the view.

    The check then finds the CSRF token in the header only.
    """

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> dict[str, Any]:
        return {}


def find_token(secret: str, at: dt.datetime) -> ApiToken | None:
    """Return the usable token with this secret, with its owner, or None. Ignore tokens of inactive owners
    and of closed accounts."""
    with system_scope():  # the owner is known only once the token is found
        token = TOKEN_OF_DIGEST.first(ApiToken.digest_of(secret))
    is_open = token is not None and token.owner.is_active and token.owner.deletion_due_at is None
    return token if token and is_open and token.is_usable(at) else None


def writer_of(request: Any) -> str:
    """Return a hash that is the same for all requests with the same token, or of the same session."""
    token = getattr(request, "auth", None)
    return _hash_of(f"session {request.session.session_key}") if token is None else _writer_with(token)


def token_names(owner: Owner) -> dict[str, str]:
    """Return the names of the owner's tokens, also of revoked ones, by the ``writer_of`` their requests."""
    return {_writer_with(token): token.name for token in ApiToken.objects.for_owner(owner)}


def _writer_with(token: ApiToken) -> str:
    return _hash_of(f"token {token.pk}")


def _hash_of(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def instance_of(request: Any) -> str:
    """Return the instance that the request's token is bound to, or an empty string."""
    token = getattr(request, "auth", None)
    return token.instance if isinstance(token, ApiToken) else ""


def namespace_of(request: Any) -> str:
    """Return the namespace that the request's token is bound to, or an empty string."""
    token = getattr(request, "auth", None)
    return token.namespace if isinstance(token, ApiToken) else ""


def check_instance(request: Any, name: str) -> str:
    """Return the instance in whose name a request writes: ``name``, or that of its token if ``name`` is empty.

    Raise PermissionDenied if the token is bound to another one.
    """
    bound = instance_of(request)
    if bound and name not in ("", bound):
        raise PermissionDenied(f"This token may write only as {bound!r}.")
    return name or bound


class TokenScope(BasePermission):
    """Permission that refuses writes with a token whose scope is ``read``.

    A token that is bound to a namespace is only for views that keep to it, which say so by ``keeps_to_namespace``. Each
    of them narrows its rows by ``namespace_of``.
    """

    message = "This token may only read."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return whether the token's scope allows the method. POST requests to views with ``reads_only`` are reads.

        Raise PermissionDenied for a token that is bound to a namespace.
        """
        if namespace_of(request) and not getattr(view, "keeps_to_namespace", False):
            raise PermissionDenied(ONLY_NAMESPACE)
        token = request.auth
        if not isinstance(token, ApiToken) or request.method in SAFE_METHODS:
            return True
        return token.scope == ApiToken.Scope.WRITE or getattr(view, "reads_only", False)


class BearerScheme(OpenApiAuthenticationExtension):
    """Description of the authentication in the OpenAPI document."""

    target_class = "apps.accounts.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "http", "scheme": "bearer", "description": "A personal API token."}
