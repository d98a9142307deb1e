"""Corrections of layer entries by buttons and forms of the memory book."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.common.problems import Conflict
from apps.memories.forms.layers import ArcForm, SceneForm
from apps.memories.memory_book import MemoryBook
from apps.memories.models import Arc, Knowledge, LedgerEntry, Relationship, Scene
from apps.memories.operations.arcs import close_arc, reopen_arc
from apps.memories.operations.layer_entries import edit_entry, restore_entry, retire_entry
from apps.memories.operations.scenes import dismiss_scene
from apps.memories.views.access import own_row, redirect_back

# Layers by the name in their addresses: the model, and the tab of the book.
ROWS = {"arc": Arc, "knowledge": Knowledge, "entry": LedgerEntry, "word": Relationship}
TABS = {"arc": "arcs", "knowledge": "knowledge", "entry": "ledger", "word": "relationships"}
NOT_SAVED = "The thread was not saved: it needs a text of up to 1,000 characters."


def _tab_url(row: Any, tab: str) -> str:
    """Return the address of a tab in the book of the row's chat, or of its character if the chat is deleted."""
    if row.chat:
        return MemoryBook(row.owner_id, chat=row.chat).url(tab)
    character = row.character if isinstance(row, Arc) else row.subject.character
    return MemoryBook(row.owner_id, character=character).url(tab) if character else reverse("memories:index")


def _done(request: HttpRequest, otherwise: str, message: str, undo: str = "") -> HttpResponse:
    """Redirect back with a message. ``undo`` is the address that undoes the change."""
    messages.success(request, message, extra_tags=f"undo {undo}" if undo else "")
    return redirect_back(request, otherwise)


@login_required
@require_POST
def change_arc(request: HttpRequest, arc_id: UUID, action: str) -> HttpResponse:
    """Close, reopen or edit an arc, or switch whether it is persistent."""
    arc = own_row(request, Arc, pk=arc_id)
    tab_url, editor = _tab_url(arc, "arcs"), str(request.user)
    undo = {"close": "reopen", "reopen": "close", "persist": "persist"}.get(action)
    if action == "close":
        summary = request.POST.get("summary", "")[:20_000].replace("\0", "")
        close_arc(arc, editor=editor, summary=summary)
        message = "The thread is resolved."
    elif action == "reopen":
        reopen_arc(arc, editor=editor)
        message = "The thread is open again."
    elif action == "persist":
        edit_entry(arc, editor=editor, persistent=not arc.persistent)
        message = "It goes on in other chats." if arc.persistent else "It belongs to its chat alone."
    else:
        form = ArcForm(request.POST)
        if not form.is_valid():
            messages.error(request, NOT_SAVED)
            return redirect_back(request, tab_url)
        edit_entry(arc, editor=editor, text=form.cleaned_data["text"], summary=form.cleaned_data["summary"])
        message = "The thread is saved."
    return _done(request, tab_url, message, reverse(f"memories:arc-{undo}", args=[arc.pk]) if undo else "")


@login_required
@require_POST
def change_scene(request: HttpRequest, found_scene_id: UUID, action: str) -> HttpResponse:
    """Edit, dismiss or bring back a detected scene."""
    scene = own_row(request, Scene, pk=found_scene_id)
    tab_url, editor = _tab_url(scene, "scenes"), str(request.user)
    if action == "dismiss":
        dismiss_scene(scene, editor=editor)
        undo = reverse("memories:found_scene-bring-back", args=[scene.pk])
        return _done(request, tab_url, "No scene ends there. You can bring it back below.", undo)
    if action == "bring-back":
        edit_entry(scene, editor=editor, state=Scene.State.FOUND)
        return _done(request, tab_url, "The scene is back.")
    form = SceneForm(request.POST)
    if form.is_valid():
        edit_entry(scene, editor=editor, **form.cleaned_data)
        return _done(request, tab_url, "The scene is saved.")
    messages.error(request, "The scene was not saved: its name has up to 200 characters.")
    return redirect_back(request, tab_url)


@login_required
@require_POST
def change_row(request: HttpRequest, layer: str, action: str, **named: UUID) -> HttpResponse:
    """Retire an entry of a layer, or restore it."""
    row = own_row(request, ROWS[layer], pk=named[f"{layer}_id"])
    tab_url, editor = _tab_url(row, TABS[layer]), str(request.user)
    if action == "retire":
        retire_entry(row, editor=editor)
        undo = reverse(f"memories:{layer}-restore", args=[row.pk])
        return _done(request, tab_url, "Taken out. You can bring it back below.", undo)
    try:
        restore_entry(row, editor=editor)
    except Conflict as error:
        messages.error(request, error.detail)
        return redirect_back(request, tab_url)
    return _done(request, tab_url, "It is back.")
