"""Dynamic registration of clients (RFC 7591)."""

import re
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from apps.common.documents.strict_json import JSONError, loads
from apps.common.http.rate_limits import Rate, take
from apps.mcp.models import OAuthClient
from apps.mcp.oauth.origins import SCOPES

MAX_BODY_BYTES = 64 * 1024
MAX_URIS = 20
MAX_URI_LENGTH = 2000
MAX_NAME_LENGTH = 100
LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Schemes that a browser itself acts on. Any other one belongs to an installed program, which its user was asked for.
REFUSED_SCHEMES = {
    *("javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source"),
    *("ftp", "ws", "wss", "mailto", "tel", "sms", "intent", "chrome", "ms-settings"),
}


class Unregistrable(Exception):
    """Metadata that no client can be registered with; has the error's code and its description."""

    def __init__(self, code: str, description: str) -> None:
        super().__init__(description)
        self.code = code


@csrf_exempt
@require_POST
def register(request: HttpRequest) -> JsonResponse:
    """Register a program, which is given an id. Anybody may: it gets at nothing until a user consents."""
    rate = Rate.parse(settings.REGISTRATION_RATE)
    key = f"registrations {get_adapter().get_client_ip(request)}"
    if rate and not (allowance := take(key, rate)).is_allowed:
        error = {"error": "temporarily_unavailable", "error_description": "Too many registrations. Try again later."}
        return JsonResponse(error, status=429, headers=allowance.headers)
    try:
        name, redirect_uris = _read(request)
    except Unregistrable as error:
        return JsonResponse({"error": error.code, "error_description": str(error)}, status=400)
    client = OAuthClient.objects.create(name=name, redirect_uris=redirect_uris)
    document = {
        "client_id": str(client.pk),
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": " ".join(SCOPES),
    }
    return JsonResponse(document, status=201, headers={"Cache-Control": "no-store"})


def _read(request: HttpRequest) -> tuple[str, list[str]]:
    """Return the name and the redirect URIs of a request. Raise Unregistrable."""
    document = _document(request)
    for field, value in (("grant_types", "authorization_code"), ("response_types", "code")):
        given = document.get(field, [value])
        if not isinstance(given, list) or value not in given:
            raise Unregistrable("invalid_client_metadata", f"{field} must have {value!r}.")
    name = document.get("client_name") or "MCP client"
    if not isinstance(name, str):
        raise Unregistrable("invalid_client_metadata", "client_name must be a text.")
    uris = document.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_URIS:
        raise Unregistrable("invalid_redirect_uri", f"redirect_uris must be a list of 1 to {MAX_URIS} addresses.")
    for uri in uris:
        _check_redirect_uri(uri)
    return " ".join(re.sub(r"[^\w .,:;()'&+/-]", " ", name).split())[:MAX_NAME_LENGTH] or "MCP client", uris


def _document(request: HttpRequest) -> dict[str, Any]:
    if len(request.body) > MAX_BODY_BYTES:
        raise Unregistrable("invalid_client_metadata", f"The body is larger than {MAX_BODY_BYTES} bytes.")
    try:
        document = loads(request.body.decode())
    except (JSONError, UnicodeDecodeError) as error:
        raise Unregistrable("invalid_client_metadata", f"The body must be a JSON object: {error}") from None
    if not isinstance(document, dict):
        raise Unregistrable("invalid_client_metadata", "The body must be a JSON object.")
    return document


def _check_redirect_uri(uri: Any) -> None:
    """Raise Unregistrable for an address that a code could be stolen at."""
    reason = _reason_against(uri)
    if reason:
        raise Unregistrable("invalid_redirect_uri", f"{str(uri)[:200]}: {reason}")


def _reason_against(uri: Any) -> str:
    if not isinstance(uri, str) or not 0 < len(uri) <= MAX_URI_LENGTH or not re.fullmatch(r"[!-~]+", uri):
        return f"it must be a text of 1 to {MAX_URI_LENGTH} printable ASCII characters."
    try:
        parts = urlsplit(uri)
        parts.port  # noqa: B018 - raises ValueError for one that is no number
    except ValueError:
        return "it is no address."
    if "#" in uri or "\\" in uri or "@" in parts.netloc or "*" in parts.netloc:
        return "it must have no fragment, backslash, user name or wildcard."
    if parts.scheme == "https":
        return "" if parts.hostname else "it has no host."
    if parts.scheme == "http":
        return "" if parts.hostname in LOOPBACK else "without TLS, it must be on localhost."
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*", parts.scheme) or parts.scheme in REFUSED_SCHEMES:
        return "it must be an https address, one on localhost, or one of a program's own scheme."
    return ""
