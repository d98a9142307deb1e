"""Corrections of layer entries by buttons and forms of the memory book."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from apps.common.problems import Conflict, Invalid
from apps.memories.forms.layers import ArcForm, SceneForm
from apps.memories.models import Arc, Knowledge, LedgerEntry, Relationship, Scene
from apps.memories.operations.arcs import close_arc, reopen_arc
from apps.memories.operations.layer_entries import edit_entry, restore_entry, retire_entry
from apps.memories.operations.scenes import dismiss_scene
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.views.access import own_entry, redirect_back

# Model and tab of each layer by its name in URLs.
LAYER_MODELS = {"arc": Arc, "knowledge": Knowledge, "entry": LedgerEntry, "word": Relationship}
LAYER_TABS = {"arc": "arcs", "knowledge": "knowledge", "entry": "ledger", "word": "relationships"}
ARC_NOT_SAVED = _("The thread was not saved: it needs a text of up to 1,000 characters.")


def _tab_url(entry: Any, tab: str) -> str:
    """Return the URL of a tab in the book of the row's chat, or of its character if the chat is deleted."""
    if entry.chat:
        return MemoryBook(entry.owner_id, chat=entry.chat).url(tab)
    character = entry.character if isinstance(entry, Arc) else entry.subject.character
    return MemoryBook(entry.owner_id, character=character).url(tab) if character else reverse("memories:index")


def _redirect_done(request: HttpRequest, default_url: str, message: str, undo: str = "") -> HttpResponse:
    """Redirect back with a message. ``undo`` is the URL that undoes the change."""
    messages.success(request, message, extra_tags=f"undo {undo}" if undo else "")
    return redirect_back(request, default_url)


@login_required
@require_POST
def change_arc(request: HttpRequest, arc_id: UUID, action: str) -> HttpResponse:
    """Close, reopen or edit an arc, or switch whether it is persistent."""
    arc = own_entry(request, Arc, pk=arc_id)
    tab_url, editor = _tab_url(arc, "arcs"), str(request.user)
    undo = {"close": "reopen", "reopen": "close", "persist": "persist"}.get(action)
    if action == "close":
        summary = request.POST.get("summary", "")[:20_000].replace("\0", "")
        close_arc(arc, editor=editor, summary=summary)
        message = gettext("The thread was resolved.")
    elif action == "reopen":
        reopen_arc(arc, editor=editor)
        message = gettext("The thread was reopened.")
    elif action == "persist":
        edit_entry(arc, editor=editor, persistent=not arc.persistent)
        message = (
            gettext("The thread continues in other chats.")
            if arc.persistent
            else gettext("The thread is limited to its own chat.")
        )
    else:
        form = ArcForm(request.POST)
        if not form.is_valid():
            raise Invalid(str(ARC_NOT_SAVED))
        edit_entry(arc, editor=editor, text=form.cleaned_data["text"], summary=form.cleaned_data["summary"])
        message = gettext("The thread was saved.")
    return _redirect_done(request, tab_url, message, reverse(f"memories:arc-{undo}", args=[arc.pk]) if undo else "")


@login_required
@require_POST
def change_scene(request: HttpRequest, found_scene_id: UUID, action: str) -> HttpResponse:
    """Edit, dismiss or restore a detected scene."""
    scene = own_entry(request, Scene, pk=found_scene_id)
    tab_url, editor = _tab_url(scene, "scenes"), str(request.user)
    if action == "dismiss":
        dismiss_scene(scene, editor=editor)
        undo = reverse("memories:found_scene-bring-back", args=[scene.pk])
        return _redirect_done(request, tab_url, gettext("The scene break was removed. You can restore it below."), undo)
    if action == "bring-back":
        edit_entry(scene, editor=editor, state=Scene.State.FOUND)
        return _redirect_done(request, tab_url, gettext("The scene break was restored."))
    form = SceneForm(request.POST)
    if form.is_valid():
        edit_entry(scene, editor=editor, **form.cleaned_data)
        return _redirect_done(request, tab_url, gettext("The scene was saved."))
    raise Invalid(gettext("The scene was not saved: its name can have at most 200 characters."))


@login_required
@require_POST
def change_entry(request: HttpRequest, layer: str, action: str, **ids: UUID) -> HttpResponse:
    """Retire an entry of a layer, or restore it."""
    entry = own_entry(request, LAYER_MODELS[layer], pk=ids[f"{layer}_id"])
    tab_url, editor = _tab_url(entry, LAYER_TABS[layer]), str(request.user)
    if action == "retire":
        retire_entry(entry, editor=editor)
        undo = reverse(f"memories:{layer}-restore", args=[entry.pk])
        return _redirect_done(request, tab_url, gettext("Removed. You can restore it below."), undo)
    try:
        restore_entry(entry, editor=editor)
    except Conflict as error:
        messages.error(request, error.detail)
        return redirect_back(request, tab_url)
    return _redirect_done(request, tab_url, gettext("Restored."))
