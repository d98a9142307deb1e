"""Memory settings: a user's, a character's, a chat's; and how a chat remembers."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from apps.chats.models import Character, Chat
from apps.chats.views.access import own_chat
from apps.common.problems import Invalid
from apps.extraction import modes
from apps.extraction.settings.forms import SettingsForm
from apps.extraction.settings.groups import Place, holdings
from apps.extraction.settings.operations import change_settings
from apps.extraction.settings.queries import stored_settings
from apps.llm.backends import backend_for
from apps.memories.models import ChatMemory
from apps.memories.views.access import own_row


@login_required
@require_http_methods(["GET", "POST"])
def of_user(request: HttpRequest) -> HttpResponse:
    """What holds for all chats of the user."""
    return _settings(request, "extraction/settings/user.html", reverse("memory-settings:memory"), [_users(request)])


@login_required
@require_http_methods(["GET", "POST"])
def of_character(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """What holds for the chats with one character."""
    character = own_row(request, Character, pk=character_id)
    return _settings(
        request,
        "extraction/settings/character.html",
        reverse("memories:character-settings", args=[character.pk]),
        [_users(request), _characters(request, character)],
        {"character": character},
    )


@login_required
@require_http_methods(["GET", "POST"])
def of_chat(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """What holds for one chat, and how it remembers."""
    chat = own_chat(request, chat_id)
    places = [_users(request)]
    if chat.character:
        places.append(_characters(request, chat.character))
    places.append(Place("this chat's", stored_settings(request.user, chat=chat)))
    context = {"tab": "settings", "memory": ChatMemory.of_chat(chat)}
    url = reverse("memories:book-settings", args=[chat.pk])
    return _settings(request, "extraction/settings/chat.html", url, places, {"chat": chat}, context)


def _users(request: HttpRequest) -> Place:
    return Place("yours", stored_settings(request.user))


def _characters(request: HttpRequest, character: Character) -> Place:
    return Place(f"{character.name}’s", stored_settings(request.user, character=character))


def _settings(
    request: HttpRequest,
    template: str,
    url: str,
    places: list[Place],
    scope: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
) -> HttpResponse:
    """The form of the last of the places. ``scope`` is whose settings are changed, as ``change_settings`` takes it."""
    backend = backend_for(request.user)
    form = SettingsForm(holdings(backend.profile, places), request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            change_settings(request.user, form.changes(), **(scope or {}))
        except Invalid as problem:
            form.add_problem(problem)
        else:
            messages.success(request, "Saved. It holds from the next reading on.")
            return redirect(url)
    shown = {"form": form, "backend": backend, "form_url": url, "own": len(places[-1].document)}
    status = 400 if form.errors else 200
    return render(request, template, shown | (scope or {}) | (context or {}), status=status)


# How a chat remembers


@login_required
@require_POST
def change_mode(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Have the chat recall only, or learn again: with ``learn`` also from what was said meanwhile."""
    chat = own_chat(request, chat_id)
    if request.POST.get("mode") == ChatMemory.Mode.READ_ONLY:
        modes.set_read_only(request.user, chat)
        return _changed(request, chat, "The chat recalls, and learns nothing new.")
    if request.POST.get("learn"):
        modes.end_read_only(request.user, chat, learn=True)
        return _changed(request, chat, "The chat learns again, also from what was said meanwhile.")
    modes.end_read_only(request.user, chat, learn=False)
    return _changed(request, chat, "The chat learns again, from what comes now.")


@login_required
@require_http_methods(["GET", "POST"])
def fresh_start(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Asks first; a POST sets aside what is remembered of the chat."""
    chat = own_chat(request, chat_id)
    if request.method == "GET":
        return render(request, "extraction/settings/fresh_start.html", {"chat": chat, "tab": "settings"})
    modes.start_fresh(request.user, chat)
    return _changed(request, chat, "Set aside. The chat begins anew; you can undo this.")


@login_required
@require_POST
def undo_fresh_start(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    chat = own_chat(request, chat_id)
    modes.undo_fresh_start(request.user, chat)
    return _changed(request, chat, "What was set aside is back.")


def _changed(request: HttpRequest, chat: Chat, words: str) -> HttpResponse:
    messages.success(request, words)
    return redirect("memories:book-settings", chat_id=chat.pk)
