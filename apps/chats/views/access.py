"""Load the current user's objects for a page, or raise Http404."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django_htmx.http import HttpResponseClientRedirect

from apps.chats.models import Character, Chat, Lorebook, Message
from apps.chats.queries import access_character, access_chat, access_lorebook, access_message
from apps.common.problems import Missing

T = TypeVar("T")


def or_404(access: Callable[..., T], *args: Any) -> T:
    """Return ``access(*args)``. Raise Http404 instead of Missing."""
    try:
        return access(*args)
    except Missing as error:
        raise Http404(error.detail) from error


def own_chat(request: HttpRequest, chat_id: UUID) -> Chat:
    return or_404(access_chat, request.user, chat_id)


def own_message(request: HttpRequest, chat_id: UUID, message_id: UUID) -> Message:
    return or_404(access_message, request.user, chat_id, message_id)


def own_character(request: HttpRequest, character_id: UUID) -> Character:
    return or_404(access_character, request.user, character_id)


def own_lorebook(request: HttpRequest, lorebook_id: UUID) -> Lorebook:
    return or_404(access_lorebook, request.user, lorebook_id)


def redirect_page(request: HttpRequest, target: str) -> HttpResponse:
    """Redirect the whole page to a URL, even if htmx sent the request."""
    return HttpResponseClientRedirect(target) if wants_partial(request) else redirect(target)


def wants_partial(request: HttpRequest) -> bool:
    """Return whether htmx requests a part of a page. Boosted links request whole pages."""
    return bool(request.htmx) and not request.htmx.boosted  # type: ignore[attr-defined]
