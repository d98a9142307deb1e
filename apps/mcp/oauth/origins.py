"""Addresses of this installation, as the request names it, and the scopes that it has."""

from django.http import HttpRequest
from django.urls import reverse

from apps.accounts.models import ApiToken

MCP_PATH = "/mcp"
RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"
SCOPES = [ApiToken.Scope.READ.value, ApiToken.Scope.WRITE.value]


def issuer_of(request: HttpRequest) -> str:
    """Return the identifier of the authorization server, which has no last slash."""
    return request.build_absolute_uri("/").removesuffix("/")


def resource_of(request: HttpRequest) -> str:
    """Return the address of the MCP server."""
    return issuer_of(request) + MCP_PATH


def is_own_resource(request: HttpRequest, resource: str) -> bool:
    """Return whether a resource indicator names this MCP server, or all of this installation."""
    return resource.removesuffix("/") in (resource_of(request), issuer_of(request))


def endpoint_of(request: HttpRequest, name: str) -> str:
    """Return the absolute address of a route of OAuth."""
    return request.build_absolute_uri(reverse(f"oauth:{name}"))
