"""Pages of memory settings of a user, a character and a chat, and of the memory mode of a chat."""

from collections.abc import Iterator
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
from apps.common.pages.settings_index import IndexedSetting
from apps.common.problems import Invalid
from apps.common.settings.inheritance import setting_values
from apps.common.settings.setting_forms import SettingsForm
from apps.extraction.runs import modes
from apps.extraction.settings.presets import PRESETS, current_preset, preset_changes
from apps.extraction.settings.schema import SETTINGS, resolve
from apps.extraction.settings.stores import MEMORY_SETTINGS, change_settings
from apps.llm.backends.selection import backend_for
from apps.memories.models import ChatMemory
from apps.memories.views.access import own_row


class MemorySettingsForm(SettingsForm):
    """Form with a field for every memory setting."""

    settings = SETTINGS


def memory_settings() -> Iterator[IndexedSetting]:
    """Yield each memory setting with the place of its field on the user's page."""
    url = reverse("memory-settings:memory")
    for name, setting in SETTINGS.items():
        page = f"{gettext('Memory')}, {setting.group.title}"
        yield IndexedSetting(setting.label, setting.help, page, f"{url}#id_{name}")


@login_required
@require_http_methods(["GET", "POST"])
def user_settings(request: HttpRequest) -> HttpResponse:
    """Show or change the settings of the user."""
    return _settings_page(request, "user", reverse("memory-settings:memory"))


@login_required
@require_http_methods(["GET", "POST"])
def character_settings(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """Show or change the settings of a character."""
    character = own_row(request, Character, pk=character_id)
    url = reverse("memories:character-settings", args=[character.pk])
    return _settings_page(request, "character", url, character=character)


@login_required
@require_http_methods(["GET", "POST"])
def chat_settings(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show or change the settings of a chat. The page also shows its memory mode."""
    chat = own_chat(request, chat_id)
    url = reverse("memories:book-settings", args=[chat.pk])
    return _settings_page(request, "chat", url, chat.character, chat, tab="settings", memory=ChatMemory.of_chat(chat))


def _settings_page(
    request: HttpRequest,
    page: str,
    url: str,
    character: Character | None = None,
    chat: Chat | None = None,
    **context: Any,
) -> HttpResponse:
    """Show the settings of a chat, else of a character, else of the user; a POST changes them."""
    sources = MEMORY_SETTINGS.sources(request.user, character=character, chat=chat)
    backend = backend_for(request.user)
    profile = resolve(backend.profile, [source.document for source in sources]).profile
    values = setting_values(SETTINGS, sources, profile)
    chosen = next((preset for preset in PRESETS if preset.name == request.POST.get("preset")), None)
    form = MemorySettingsForm(values, request.POST if request.method == "POST" else None)
    if form.is_valid():
        changes = preset_changes(chosen, values, profile) if chosen else form.changes()
        try:
            change_settings(request.user, changes, character=None if chat else character, chat=chat)
        except Invalid as problem:
            form.add_problem(problem)
        else:
            messages.success(request, gettext("Saved. Applies from the next extraction."))
            return redirect("settings:index" if request.POST.get("next") == "overview" else url)
    context |= {"form": form, "form_url": url, "own": len(sources[-1].document), "backend": backend}
    context |= {"presets": PRESETS, "current": current_preset(values, profile)}
    context |= {"chat": chat} if chat else {"character": character}
    return render(request, f"extraction/settings/{page}.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def change_mode(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Make a chat read-only or end that mode; with ``learn``, the messages written in the meantime are read too."""
    chat = own_chat(request, chat_id)
    if request.POST.get("mode") == ChatMemory.Mode.READ_ONLY:
        modes.set_read_only(request.user, chat)
        return _back_to_settings(
            request, chat, gettext("This chat is read-only now. Nothing new is remembered from it.")
        )
    learn = bool(request.POST.get("learn"))
    modes.end_read_only(request.user, chat, learn=learn)
    scope = gettext("the messages written in the meantime too") if learn else gettext("new messages only")
    return _back_to_settings(request, chat, gettext("This chat learns again, from %(scope)s.") % {"scope": scope})


@login_required
@require_http_methods(["GET", "POST"])
def fresh_start(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Ask for confirmation; a POST retires the memories of this chat, except long-term ones."""
    chat = own_chat(request, chat_id)
    if request.method == "GET":
        return render(request, "extraction/settings/fresh_start.html", {"chat": chat, "tab": "settings"})
    modes.start_fresh(request.user, chat)
    return _back_to_settings(request, chat, gettext("The memories of this chat were set aside. You can undo this."))


@login_required
@require_POST
def undo_fresh_start(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Restore what the fresh start retired."""
    chat = own_chat(request, chat_id)
    modes.undo_fresh_start(request.user, chat)
    return _back_to_settings(request, chat, gettext("The memories of this chat were restored."))


def _back_to_settings(request: HttpRequest, chat: Chat, text: str) -> HttpResponse:
    messages.success(request, text)
    return redirect("memories:book-settings", chat_id=chat.pk)
