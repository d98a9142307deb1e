"""Load rows for a page. Rows of other users raise Http404, like missing ones."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme

from apps.chats.models import Character
from apps.chats.views.access import own_chat
from apps.memories.models import Memory
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.visibility import is_remembered


def own_book(request: HttpRequest, chat_id: UUID | None = None, character_id: UUID | None = None) -> MemoryBook:
    """Return the memory book of a chat, or of a character. Raise Http404."""
    if chat_id:
        chat = own_chat(request, chat_id)
        return MemoryBook(chat.owner_id, chat, chat.character)
    character = own_row(request, Character, pk=character_id)
    return MemoryBook(character.owner_id, None, character)


def own_memory(request: HttpRequest, memory_id: UUID) -> Memory:
    """Return a memory with its history. Tombstones are included, since a deletion can be undone. Raise Http404."""
    return get_object_or_404(Memory.objects.for_owner(request.user).with_history(), pk=memory_id)


def own_row(request: HttpRequest, model: Any, **lookup: Any) -> Any:
    """Return the requester's row of a model. Raise Http404."""
    return get_object_or_404(model.objects.for_owner(request.user), **lookup)


def own_entry(request: HttpRequest, model: Any, **lookup: Any) -> Any:
    """Return the requester's layer entry, unless its chat is in the bin. Raise Http404."""
    return get_object_or_404(model.objects.for_owner(request.user).filter(is_remembered()), **lookup)


def redirect_back(request: HttpRequest, default_url: str) -> HttpResponse:
    """Redirect to the URL in the form field ``next`` if it is on this site, else to ``default_url``."""
    next_url = request.POST.get("next", "")
    is_local = next_url.startswith("/") and url_has_allowed_host_and_scheme(next_url, allowed_hosts=None)
    return redirect(next_url if is_local else default_url)
