"""Pages of the injection settings of a user, a character and a chat, with a preview of the chat's next prompt."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.chats.models import Character, Chat
from apps.chats.views.access import own_chat
from apps.common.problems import Invalid
from apps.common.settings.inheritance import SettingsSource, setting_values
from apps.memories.views.access import own_row
from apps.prompts.assembly.previews import preview_memory
from apps.prompts.filling.statistics import histories_of
from apps.prompts.pages.settings_forms import InjectionSettingsForm, trimmings_of
from apps.prompts.settings.schema import SETTINGS, resolve, validate
from apps.prompts.settings.stores import INJECTION_SETTINGS


@login_required
@require_http_methods(["GET", "POST"])
def user_settings(request: HttpRequest) -> HttpResponse:
    """Show or change the settings of the user."""
    return _settings_page(request, reverse("prompts:settings"))


@login_required
@require_http_methods(["GET", "POST"])
def character_settings(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """Show or change the settings of a character."""
    character = own_row(request, Character, pk=character_id)
    return _settings_page(request, reverse("prompts:character-settings", args=[character.pk]), character)


@login_required
@require_http_methods(["GET", "POST"])
def chat_settings(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show or change the settings of a chat. With ``preview`` in the POST, show the prompt and change nothing."""
    chat = own_chat(request, chat_id)
    return _settings_page(request, reverse("prompts:chat-settings", args=[chat.pk]), chat.character, chat)


@login_required
@require_POST
def preview(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Return the preview of the chat's next prompt with the settings of the form, which aren't saved."""
    chat = own_chat(request, chat_id)
    sources = INJECTION_SETTINGS.sources(request.user, character=chat.character, chat=chat)
    form = InjectionSettingsForm(setting_values(SETTINGS, sources), request.POST)
    context = _preview_context(chat, sources, form) | {"replaces": True}
    return render(request, "prompts/settings/_preview.html", context)


def _settings_page(
    request: HttpRequest, url: str, character: Character | None = None, chat: Chat | None = None
) -> HttpResponse:
    """Show the settings of a chat, else of a character, else of the user; a POST changes them."""
    sources = INJECTION_SETTINGS.sources(request.user, character=character, chat=chat)
    form = InjectionSettingsForm(setting_values(SETTINGS, sources), request.POST if request.method == "POST" else None)
    if form.is_valid() and "preview" not in request.POST:
        try:
            INJECTION_SETTINGS.change(request.user, form.changes(), character=None if chat else character, chat=chat)
        except Invalid as problem:
            form.add_problem(problem)
        else:
            messages.success(request, gettext("Saved. Applies from the next prompt."))
            return redirect(url)
    context: dict[str, Any] = {
        "form": form,
        "form_url": url,
        "own": len(sources[-1].document),
        "chat": chat,
        "tab": "settings",
    }
    context |= {"character": character}
    context |= (
        _preview_context(chat, sources, form)
        if chat
        else {"slots": form.slots({}, histories=histories_of(request.user, character))}
    )
    page = "chat" if chat else "character" if character else "user"
    return render(request, f"prompts/settings/{page}.html", context, status=400 if form.errors else 200)


def _preview_context(chat: Chat, sources: list[SettingsSource], form: InjectionSettingsForm) -> dict[str, Any]:
    """Return the prompt with the settings of the form, or the errors for which there is none."""
    changes = form.changes() if form.is_bound and form.is_valid() else {}
    try:
        validate({name: value for name, value in changes.items() if value is not None})
        own = {name: value for name, value in {**sources[-1].document, **changes}.items() if value is not None}
        settings = resolve([*(source.document for source in sources[:-1]), own])
        prompt = preview_memory(chat, settings)
    except Invalid as problem:
        return {"problem": problem.detail, "slots": form.slots({})}
    trimmings = trimmings_of(prompt.slots, prompt.budget_steps)
    shown = list(form.slots({filled.slot.name: filled for filled in prompt.slots}, trimmings))
    return {"prompt": prompt, "problem": gettext("Some settings are not valid.") if form.errors else "", "slots": shown}
