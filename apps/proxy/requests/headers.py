"""Read the headers of a request: who asks, which chat and character they name, what is to be done with it."""

from collections.abc import Mapping
from uuid import UUID

from django.http import HttpRequest
from rest_framework.exceptions import NotAuthenticated, PermissionDenied

from apps.accounts.authentication import ONLY_NAMESPACE, BearerAuthentication
from apps.accounts.models import ApiToken, User
from apps.accounts.suspension import refuse_suspended
from apps.chats.models import Character
from apps.chats.operations import find_or_create_character
from apps.common.problems import Missing
from apps.proxy.requests.texts import mentions


def owner_of(request: HttpRequest) -> User:
    """Return the owner of the request's token, and set that as ``request.auth``, as REST framework does.

    Raise AuthenticationFailed, PermissionDenied, Suspended.
    """
    authenticated = BearerAuthentication().authenticate(request)  # type: ignore[arg-type]
    if authenticated is None:
        raise NotAuthenticated("Send a Loci API token as the API key: Authorization: Bearer loci_...")
    owner, token = authenticated
    request.auth = token  # type: ignore[attr-defined]
    if token.namespace:
        raise PermissionDenied(ONLY_NAMESPACE)
    if token.scope != ApiToken.Scope.WRITE:
        raise PermissionDenied("This token may only read. The proxy stores chats, so it needs one that may write.")
    if request.method == "POST":
        refuse_suspended(owner)
    return owner


def named_chat(headers: Mapping[str, str]) -> UUID | None:
    """Return the chat that the client names, or None. Raise Missing."""
    value = headers.get("X-Loci-Chat", "").strip()
    try:
        return UUID(value) if value else None
    except ValueError:
        raise Missing("X-Loci-Chat names no chat.") from None


def is_without_memory(headers: Mapping[str, str]) -> bool:
    """Return whether the client wants neither memory nor storage."""
    return headers.get("X-Loci-Memory", "").strip().lower() == "off"


def follows_deletions(headers: Mapping[str, str]) -> bool:
    """Return whether what the client leaves out of a named chat is deleted, however much it is."""
    return headers.get("X-Loci-Deletions", "").strip().lower() == "follow"


def character_name(headers: Mapping[str, str]) -> str:
    """Return the name of the character that the client names, or nothing."""
    return headers.get("X-Loci-Character", "").strip()


def character_of(owner: User, headers: Mapping[str, str], opening: str) -> Character | None:
    """Return the character that the client names, else the owner's whose name the opening has most often, or None."""
    if name := character_name(headers):
        return find_or_create_character(owner, name[:200])
    characters = Character.objects.for_owner(owner).own().only("name", "owner_id").order_by("pk")
    named = [(count, character) for character in characters if (count := mentions(opening, character.name))]
    return max(named, key=lambda item: item[0])[1] if named else None
