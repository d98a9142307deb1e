"""Documents by which clients find out how to get a token (RFC 9728 and RFC 8414)."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from apps.mcp.oauth.origins import SCOPES, endpoint_of, issuer_of, resource_of


@require_safe
def protected_resource(request: HttpRequest) -> JsonResponse:
    """Return which authorization server issues tokens for the MCP server: this one."""
    return JsonResponse(
        {
            "resource": resource_of(request),
            "authorization_servers": [issuer_of(request)],
            "scopes_supported": SCOPES,
            "bearer_methods_supported": ["header"],
            "resource_name": "Loci",
        }
    )


@require_safe
def authorization_server(request: HttpRequest) -> JsonResponse:
    """Return the endpoints of the authorization server, and what it supports."""
    return JsonResponse(
        {
            "issuer": issuer_of(request),
            "authorization_endpoint": endpoint_of(request, "authorize"),
            "token_endpoint": endpoint_of(request, "token"),
            "registration_endpoint": endpoint_of(request, "register"),
            "revocation_endpoint": endpoint_of(request, "revoke"),
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
    )
