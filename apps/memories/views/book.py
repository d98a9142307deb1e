"""The memory book of a chat: its timeline, arcs, scenes, ledger, who knows what, relationships, and its story."""

from typing import Any
from uuid import UUID

from django import forms as django_forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Chat
from apps.memories import forms, queries
from apps.memories.lines.summary import SECTIONS
from apps.memories.models import Arc, Digest, Knowledge, LedgerEntry, Memory, Relationship, Scene
from apps.memories.operations import layer_corrections as corrections
from apps.memories.tasks import request_run
from apps.memories.views.access import own_chat, own_row

PAGE = 60
ROWS = {"arc": Arc, "knowledge": Knowledge, "entry": LedgerEntry, "word": Relationship}
TABS = {"arc": "arcs", "knowledge": "knowledge", "entry": "ledger", "word": "relationships"}


def _tab(request: HttpRequest, chat: Chat, tab: str, *, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, f"memories/book/{tab}.html", {"chat": chat, "tab": tab, **context}, status=status)


def _done(request: HttpRequest, chat: Chat, tab: str, words: str) -> HttpResponse:
    messages.success(request, words)
    return redirect(f"memories:book-{tab}", chat_id=chat.pk)


def _posted(request: HttpRequest, form: type[django_forms.Form]) -> Any:
    """The form as it was sent, or empty."""
    return form(request.POST) if request.method == "POST" else form()


@login_required
@require_safe
def timeline(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """What was learnt in the chat, in the order of the story; ``?at=`` as things stood at that message."""
    chat = own_chat(request, chat_id)
    at = _index(request.GET.get("at"), chat)
    mine = Memory.objects.for_owner(request.user).present().known_in(chat)
    mine = mine.as_of(at).exclude(state=Memory.State.RETIRED) if at is not None else mine
    if at is None and "all" not in request.GET:
        mine = mine.standing_in(chat)
    ordered = mine.with_history().select_related("valid_from__chat").order_by("valid_from__index", "pk")
    page = Paginator(ordered, PAGE).get_page(request.GET.get("page"))
    return _tab(request, chat, "timeline", page=page, at=at, every="all" in request.GET)


def _index(value: str | None, chat: Chat) -> int | None:
    return min(int(value), chat.message_count) if value and value.isascii() and value.isdigit() else None


@login_required
@require_http_methods(["GET", "POST"])
def arcs(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Open threads and how others came out; a POST adds one."""
    chat = own_chat(request, chat_id)
    form = _posted(request, forms.ArcForm)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        corrections.create_arc(chat, data["text"], editor=str(request.user), persistent=data["persistent"])
        return _done(request, chat, "arcs", "The thread is open.")
    gone = Arc.objects.for_owner(request.user).filter(chat=chat, retired_reason__startswith=corrections.BY_HAND)
    status = 400 if form.errors else 200
    return _tab(request, chat, "arcs", arcs=queries.arcs_in(chat), form=form, gone=gone, status=status)


@login_required
@require_POST
def change_arc(request: HttpRequest, chat_id: UUID, arc_id: UUID, action: str) -> HttpResponse:
    """Close, reopen or edit an arc, or have it persist or not."""
    chat = own_chat(request, chat_id)
    arc = own_row(request, Arc, pk=arc_id)
    editor = str(request.user)
    if action == "close":
        corrections.close_arc(arc, editor=editor, summary=request.POST.get("summary", "")[:20_000].replace("\0", ""))
        return _done(request, chat, "arcs", "The thread is resolved.")
    if action == "reopen":
        corrections.reopen_arc(arc, editor=editor)
        return _done(request, chat, "arcs", "The thread is open again.")
    if action == "persist":
        corrections.edit_row(arc, editor=editor, persistent=not arc.persistent)
        return _done(request, chat, "arcs", "Saved.")
    form = forms.ArcForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The thread was not saved: it needs a text of up to 1,000 characters.")
        return redirect("memories:book-arcs", chat_id=chat.pk)
    corrections.edit_row(arc, editor=editor, text=form.cleaned_data["text"], summary=form.cleaned_data["summary"])
    return _done(request, chat, "arcs", "The thread is saved.")


@login_required
@require_safe
def scenes(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """The scenes that ended, with what was learnt in each."""
    chat = own_chat(request, chat_id)
    found = queries.scenes_in(chat)
    learnt = {scene.last.pk: list(queries.memories_between(chat, scene.start, scene.end)[:20]) for scene in found}
    dismissed = Scene.objects.for_owner(request.user).filter(chat=chat, state=Scene.State.DISMISSED)
    return _tab(
        request,
        chat,
        "scenes",
        scenes=[(scene, learnt[scene.last.pk]) for scene in found],
        dismissed=dismissed.select_related("source"),
    )


@login_required
@require_POST
def change_scene(request: HttpRequest, chat_id: UUID, found_scene_id: UUID, action: str) -> HttpResponse:
    """Edit, dismiss or bring back a scene that was found."""
    chat = own_chat(request, chat_id)
    scene = own_row(request, Scene, pk=found_scene_id, chat=chat)
    editor = str(request.user)
    if action == "dismiss":
        corrections.dismiss_scene(scene, editor=editor)
        return _done(request, chat, "scenes", "No scene ends there. You can bring it back below.")
    if action == "bring-back":
        corrections.edit_row(scene, editor=editor, state=Scene.State.FOUND)
        return _done(request, chat, "scenes", "The scene is back.")
    form = forms.SceneForm(request.POST)
    if form.is_valid():
        corrections.edit_row(scene, editor=editor, **form.cleaned_data)
        return _done(request, chat, "scenes", "The scene is saved.")
    messages.error(request, "The scene was not saved: its name has up to 200 characters.")
    return redirect("memories:book-scenes", chat_id=chat.pk)


@login_required
@require_http_methods(["GET", "POST"])
def ledger(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """The state of everybody and everything with its history; a POST sets or clears a field."""
    chat = own_chat(request, chat_id)
    form = _posted(request, forms.StateForm)
    if request.method == "POST" and form.is_valid():
        corrections.set_state(chat, editor=str(request.user), **form.change())
        return _done(request, chat, "ledger", "The ledger is up to date.")
    return _tab(request, chat, "ledger", states=queries.ledger_in(chat), form=form, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def knowledge(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Who knows what, as a matrix; a POST adds an entry."""
    chat = own_chat(request, chat_id)
    form = _posted(request, forms.KnowledgeForm)
    if request.method == "POST" and form.is_valid():
        corrections.create_knowledge(chat, editor=str(request.user), **form.cleaned_data)
        return _done(request, chat, "knowledge", "Kept.")
    gone = Knowledge.objects.for_owner(request.user).filter(chat=chat, retired_reason__startswith=corrections.BY_HAND)
    return _tab(
        request,
        chat,
        "knowledge",
        matrix=queries.knowledge_matrix(chat),
        form=form,
        gone=gone.select_related("subject"),
        status=400 if form.errors else 200,
    )


@login_required
@require_http_methods(["GET", "POST"])
def relationships(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """How people stand to each other, and stood; a POST says a word of it or takes one away."""
    chat = own_chat(request, chat_id)
    form = _posted(request, forms.RelationshipForm)
    if request.method == "POST" and form.is_valid():
        corrections.set_relationship(chat, editor=str(request.user), **form.change())
        return _done(request, chat, "relationships", "Saved.")
    pairs = queries.relationships_in(chat)
    return _tab(request, chat, "relationships", pairs=pairs, form=form, status=400 if form.errors else 200)


@login_required
@require_POST
def change_row(request: HttpRequest, chat_id: UUID, layer: str, action: str, **named: UUID) -> HttpResponse:
    """Take an entry of a layer out, or bring it back."""
    chat = own_chat(request, chat_id)
    row = own_row(request, ROWS[layer], pk=named[f"{layer}_id"])
    if action == "retire":
        corrections.retire_row(row, editor=str(request.user))
        return _done(request, chat, TABS[layer], "Taken out. You can bring it back below.")
    try:
        corrections.restore_row(row, editor=str(request.user))
    except corrections.Conflict as error:
        messages.error(request, error.detail)
        return redirect(f"memories:book-{TABS[layer]}", chat_id=chat.pk)
    return _done(request, chat, TABS[layer], "It is back.")


STORY = {
    "summary": (Digest.Kind.SUMMARY, forms.TextForm),
    "canon": (Digest.Kind.CANON, forms.TextForm),
    "profiles": (Digest.Kind.PROFILE, forms.ProfileForm),
}


@login_required
@require_safe
def story(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """The summary so far, profiles, canon, and the last check for contradictions, each with its versions."""
    chat = own_chat(request, chat_id)
    digests = {kind: list(queries.digests_of(chat, kind)) for kind in Digest.Kind.values}
    current = {kind: [one for one in rows if one.state == Digest.State.CURRENT] for kind, rows in digests.items()}
    return _tab(request, chat, "story", current=current, digests=digests, sections=SECTIONS)


@login_required
@require_http_methods(["GET", "POST"])
def edit_story(request: HttpRequest, chat_id: UUID, part: str) -> HttpResponse:
    """Write the summary, the canon or a profile by hand. What was there is kept as a version."""
    chat = own_chat(request, chat_id)
    kind, form_class = STORY[part]
    current = queries.current_digest(chat, kind)
    initial = {"text": current.text, **current.parts} if current else {}
    form = form_class(request.POST) if request.method == "POST" else form_class(initial=initial)
    if request.method == "POST" and form.is_valid():
        character = current.character if current else (chat.character if part != "summary" else None)
        corrections.edit_digest(chat, kind, editor=str(request.user), character=character, **form.cleaned_data)
        return _done(request, chat, "story", "Saved.")
    context = {"chat": chat, "tab": "story", "form": form, "part": part}
    return render(request, "memories/book/edit_story.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def make_story(request: HttpRequest, chat_id: UUID, part: str) -> HttpResponse:
    """Have profiles, the canon or the check made anew."""
    chat = own_chat(request, chat_id)
    _, made = request_run(request.user, chat, tiers=[part])
    words = "It is being made. This page shows it in a moment." if made else "Wait for the run that is under way."
    return _done(request, chat, "story", words)


@login_required
@require_POST
def restore_story(request: HttpRequest, chat_id: UUID, digest_id: UUID) -> HttpResponse:
    """Make an earlier version the current one again."""
    chat = own_chat(request, chat_id)
    digest = own_row(request, Digest, pk=digest_id)
    corrections.restore_digest(digest, editor=str(request.user))
    return _done(request, chat, "story", "The earlier version is current again.")
