"""Read a request: who asks, what is asked, which chat and character it names."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from rest_framework.exceptions import NotAuthenticated, PermissionDenied

from apps.accounts.authentication import BearerAuthentication
from apps.accounts.models import ApiToken, User
from apps.accounts.suspension import refuse_suspended
from apps.chats.models import Character
from apps.chats.operations import find_or_create_character
from apps.common.documents.strict_json import parse_document
from apps.common.problems import Invalid, Missing
from apps.proxy.conversation import mentions

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
MAX_MESSAGES = 10_000  # of a request; a context of a million tokens has fewer


def owner_of(request: HttpRequest) -> User:
    """Return the owner of the request's token, and set that as ``request.auth``, as REST framework does.

    Raise AuthenticationFailed, PermissionDenied, Suspended.
    """
    authenticated = BearerAuthentication().authenticate(request)  # type: ignore[arg-type]
    if authenticated is None:
        raise NotAuthenticated("Send a Loci API token as the API key: Authorization: Bearer loci_...")
    owner, token = authenticated
    request.auth = token  # type: ignore[attr-defined]
    if token.scope != ApiToken.Scope.WRITE:
        raise PermissionDenied("This token may only read. The proxy stores chats, so it needs one that may write.")
    if request.method == "POST":
        refuse_suspended(owner)
    return owner


def parsed_body(raw: bytes) -> dict[str, Any]:
    """Return the body of a request. Raise Invalid with the field, ParseError if it is not JSON."""
    body = parse_document(raw)
    if not isinstance(body, dict):
        raise Invalid.at("", "The body must be an object.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Invalid.at("/messages", "messages: it must be a list with at least one message.")
    if len(messages) > MAX_MESSAGES:
        raise Invalid.at("/messages", f"messages: there may be at most {MAX_MESSAGES:,}.")
    for number, message in enumerate(messages):
        _check_message(f"/messages/{number}", message)
    return body


def _check_message(at: str, message: Any) -> None:
    """Raise Invalid with the field."""
    name = at[1:].replace("/", ".")
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise Invalid.at(f"{at}/role", f"{name}.role: it must be one of {', '.join(ROLES)}.")
    if not isinstance(message.get("content"), str | list | None):
        raise Invalid.at(f"{at}/content", f"{name}.content: it must be a string, a list or null.")
    calls = message.get("tool_calls")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise Invalid.at(f"{at}/tool_calls", f"{name}.tool_calls: it must be a list of objects.")
    if not isinstance(message.get("function_call"), dict | None):
        raise Invalid.at(f"{at}/function_call", f"{name}.function_call: it must be an object.")


def named_chat(headers: Mapping[str, str]) -> UUID | None:
    """Return the chat that the client names, or None. Raise Missing."""
    value = headers.get("X-Loci-Chat", "").strip()
    try:
        return UUID(value) if value else None
    except ValueError:
        raise Missing("X-Loci-Chat names no chat.") from None


def character_of(owner: User, headers: Mapping[str, str], opening: str) -> Character | None:
    """Return the character that the client names, else the owner's whose name the opening has most often, or None."""
    name = headers.get("X-Loci-Character", "").strip()
    if name:
        return find_or_create_character(owner, name[:200])
    characters = Character.objects.for_owner(owner).only("name", "owner_id").order_by("pk")
    named = [(count, character) for character in characters if (count := mentions(opening, character.name))]
    return max(named, key=lambda item: item[0])[1] if named else None
