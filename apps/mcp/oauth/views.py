"""Views of the authorization server: the page on which a user consents, and the endpoints of tokens."""

from typing import Any
from urllib.parse import urlsplit

from csp.constants import SELF
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST
from oauthlib.common import add_params_to_uri
from oauthlib.oauth2 import AccessDeniedError, FatalClientError, OAuth2Error

from apps.accounts.models import ApiToken
from apps.common.scoping import system_scope
from apps.mcp.oauth.origins import is_own_resource, issuer_of
from apps.mcp.oauth.server import SERVER, scopes_of, token_scope

MAX_BODY_BYTES = 64 * 1024


class ClientRedirect(HttpResponseRedirect):
    """Redirect to an address that a client has registered, whose scheme may be that of an installed program."""

    def __init__(self, request: HttpRequest, uri: str) -> None:
        self.allowed_schemes = [urlsplit(uri).scheme]
        super().__init__(add_params_to_uri(uri, [("iss", issuer_of(request))]))


class InvalidTarget(OAuth2Error):
    error = "invalid_target"
    description = "The resource is not the MCP server of this installation."


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def authorize(request: HttpRequest) -> HttpResponse:
    """Ask the user whether a program may use their memory, and send it a code or the refusal.

    No error is sent to an address that the program has not registered: the user is told instead. Since anybody may
    register a program, nothing but an answer of the user leads to its address: else a link to this page would lead on
    to any site.
    """
    uri = request.build_absolute_uri()
    try:
        scopes, details = SERVER.validate_authorization_request(uri)
        asked = details["request"]
        if (resource := getattr(asked, "resource", None)) and not is_own_resource(request, resource):
            raise InvalidTarget(request=asked)
        if request.method == "POST":
            return ClientRedirect(request, _answer(request, asked, token_scope(scopes)))
    except (FatalClientError, ValueError) as error:
        reason = getattr(error, "description", None) or gettext("The address is malformed.")
        return render(request, "mcp/refused.html", {"reason": reason}, status=400)
    except OAuth2Error as error:
        back = error.in_uri(error.redirect_uri)
        if request.method == "POST":
            return ClientRedirect(request, back)
        context = {"reason": error.description or error.error, "back": back, "place": _place_of(error.redirect_uri)}
        return render(request, "mcp/refused.html", context, status=400)
    context = {
        "client": asked.client,
        "place": _place_of(asked.redirect_uri),
        "may_write": token_scope(scopes) == ApiToken.Scope.WRITE,
    }
    response = render(request, "mcp/consent.html", context)
    # The form's reply redirects to the program: browsers hold a redirect, too, against the policy of the form's page.
    response._csp_update = {"form-action": [SELF, _source_of(asked.redirect_uri)]}  # type: ignore[attr-defined]
    return response


def _answer(request: HttpRequest, asked: Any, scope: str) -> str:
    """Return where to send the user's answer. Raise OAuth2Error for a refusal."""
    if request.POST.get("answer") != "allow":
        raise AccessDeniedError(request=asked)
    chosen = scope if request.POST.get("scope") == scope else ApiToken.Scope.READ
    headers, _, _ = SERVER.create_authorization_response(
        request.build_absolute_uri(), scopes=scopes_of(chosen), credentials={"user": request.user}
    )
    return str(headers["Location"])


def _place_of(uri: str) -> str:
    """Return what tells a user where an address leads: its host, or the scheme of an installed program.

    The host of such a scheme says nothing: the program that owns the scheme chooses it.
    """
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def _source_of(uri: str) -> str:
    """Return the source of a content security policy that an address belongs to."""
    parts = urlsplit(uri)
    # A policy knows no IPv6 addresses.
    is_host = parts.scheme in ("http", "https") and "[" not in parts.netloc
    return f"{parts.scheme}://{parts.netloc}" if is_host else f"{parts.scheme}:"


@csrf_exempt
@require_POST
def token(request: HttpRequest) -> HttpResponse:
    """Exchange a code or a refresh token for an access token."""
    return _respond(request, SERVER.create_token_response)


@csrf_exempt
@require_POST
def revoke(request: HttpRequest) -> HttpResponse:
    """Revoke an access or a refresh token, and with it the other one."""
    return _respond(request, SERVER.create_revocation_response)


def _respond(request: HttpRequest, answer: Any) -> HttpResponse:
    """Return what oauthlib answers to a form. It is committed also if it is an error: that may have ended a grant."""
    try:
        if len(request.body) > MAX_BODY_BYTES:
            raise ValueError
        with transaction.atomic(), system_scope():  # nobody is signed in: the code or the token names the grant
            headers, body, status = answer(
                request.build_absolute_uri(), "POST", request.body.decode(), {"Content-Type": request.content_type}
            )
    except ValueError:
        headers, status = {}, 400
        body = '{"error": "invalid_request", "error_description": "The body is no form."}'
    response = HttpResponse(body, status=status, content_type="application/json")
    for name, value in {"Cache-Control": "no-store", **headers}.items():
        response[name] = value
    return response
