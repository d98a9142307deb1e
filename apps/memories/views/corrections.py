"""What a person corrects in the layers of a book; each change leads back to where its form stood, and can be undone."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.common.problems import Conflict
from apps.memories import forms
from apps.memories.memory_book import Book
from apps.memories.models import Arc, Knowledge, LedgerEntry, Relationship, Scene
from apps.memories.operations import layer_corrections as corrections
from apps.memories.views.access import back, own_row

ROWS = {"arc": Arc, "knowledge": Knowledge, "entry": LedgerEntry, "word": Relationship}
TABS = {"arc": "arcs", "knowledge": "knowledge", "entry": "ledger", "word": "relationships"}
NOT_SAVED = "The thread was not saved: it needs a text of up to 1,000 characters."


def _home(row: Any, tab: str) -> str:
    """The part of the book that a row stands in: its chat's, or its character's where the chat is gone."""
    if row.chat:
        return Book(row.owner_id, chat=row.chat).url(tab)
    character = row.character if isinstance(row, Arc) else row.subject.character
    return Book(row.owner_id, character=character).url(tab) if character else reverse("memories:index")


def _done(request: HttpRequest, home: str, words: str, undo: str = "") -> HttpResponse:
    messages.success(request, words, extra_tags=f"undo {undo}" if undo else "")
    return back(request, home)


@login_required
@require_POST
def change_arc(request: HttpRequest, arc_id: UUID, action: str) -> HttpResponse:
    """Close, reopen or edit an arc, or have it persist or not."""
    arc = own_row(request, Arc, pk=arc_id)
    home, editor = _home(arc, "arcs"), str(request.user)
    undo = {"close": "reopen", "reopen": "close", "persist": "persist"}.get(action)
    if action == "close":
        summary = request.POST.get("summary", "")[:20_000].replace("\0", "")
        corrections.close_arc(arc, editor=editor, summary=summary)
        words = "The thread is resolved."
    elif action == "reopen":
        corrections.reopen_arc(arc, editor=editor)
        words = "The thread is open again."
    elif action == "persist":
        corrections.edit_row(arc, editor=editor, persistent=not arc.persistent)
        words = "It goes on in other chats." if arc.persistent else "It belongs to its chat alone."
    else:
        form = forms.ArcForm(request.POST)
        if not form.is_valid():
            messages.error(request, NOT_SAVED)
            return back(request, home)
        corrections.edit_row(arc, editor=editor, text=form.cleaned_data["text"], summary=form.cleaned_data["summary"])
        words = "The thread is saved."
    return _done(request, home, words, reverse(f"memories:arc-{undo}", args=[arc.pk]) if undo else "")


@login_required
@require_POST
def change_scene(request: HttpRequest, found_scene_id: UUID, action: str) -> HttpResponse:
    """Edit, dismiss or bring back a scene that was found."""
    scene = own_row(request, Scene, pk=found_scene_id)
    home, editor = _home(scene, "scenes"), str(request.user)
    if action == "dismiss":
        corrections.dismiss_scene(scene, editor=editor)
        undo = reverse("memories:found_scene-bring-back", args=[scene.pk])
        return _done(request, home, "No scene ends there. You can bring it back below.", undo)
    if action == "bring-back":
        corrections.edit_row(scene, editor=editor, state=Scene.State.FOUND)
        return _done(request, home, "The scene is back.")
    form = forms.SceneForm(request.POST)
    if form.is_valid():
        corrections.edit_row(scene, editor=editor, **form.cleaned_data)
        return _done(request, home, "The scene is saved.")
    messages.error(request, "The scene was not saved: its name has up to 200 characters.")
    return back(request, home)


@login_required
@require_POST
def change_row(request: HttpRequest, layer: str, action: str, **named: UUID) -> HttpResponse:
    """Take an entry of a layer out, or bring it back."""
    row = own_row(request, ROWS[layer], pk=named[f"{layer}_id"])
    home, editor = _home(row, TABS[layer]), str(request.user)
    if action == "retire":
        corrections.retire_row(row, editor=editor)
        undo = reverse(f"memories:{layer}-restore", args=[row.pk])
        return _done(request, home, "Taken out. You can bring it back below.", undo)
    try:
        corrections.restore_row(row, editor=editor)
    except Conflict as error:
        messages.error(request, error.detail)
        return back(request, home)
    return _done(request, home, "It is back.")
