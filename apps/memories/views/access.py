"""Loads somebody's own rows for a page; what is another's is not there."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme

from apps.chats.models import Character, Chat
from apps.memories.memory_book import Book
from apps.memories.models import Memory


def own_chat(request: HttpRequest, chat_id: UUID) -> Chat:
    return get_object_or_404(Chat.objects.for_owner(request.user).select_related("character"), pk=chat_id)


def own_book(request: HttpRequest, chat_id: UUID | None = None, character_id: UUID | None = None) -> Book:
    """The book of a chat, or of a character."""
    if chat_id:
        chat = own_chat(request, chat_id)
        return Book(chat.owner_id, chat, chat.character)
    character = own_row(request, Character, pk=character_id)
    return Book(character.owner_id, None, character)


def own_memory(request: HttpRequest, memory_id: UUID) -> Memory:
    """With its history; tombstones too, since a deletion can be undone."""
    return get_object_or_404(Memory.objects.for_owner(request.user).with_history(), pk=memory_id)


def own_row(request: HttpRequest, model: Any, **named: Any) -> Any:
    return get_object_or_404(model.objects.for_owner(request.user), **named)


def wants_partial(request: HttpRequest) -> bool:
    return bool(request.htmx) and not request.htmx.boosted  # type: ignore[attr-defined]


def back(request: HttpRequest, otherwise: str) -> HttpResponse:
    """To where a form stood, which its field ``next`` tells, else to the address ``otherwise``."""
    wanted = request.POST.get("next", "")
    is_ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return redirect(wanted if is_ours else otherwise)
