"""The pages of single memories: all of them, search, corrections, and a chat's rail."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Character, Chat
from apps.common.problems import Conflict
from apps.memories import operations
from apps.memories.forms import FilterForm, MemoryForm, MergeForm, SplitForm
from apps.memories.models import Memory
from apps.memories.operations.merging import is_merge, whole_of
from apps.memories.search import SearchQuery, search
from apps.memories.timeline import chain_of, name_witnesses
from apps.memories.views.access import own_chat, own_memory, wants_partial

PAGE = 50
RAIL = 12
BOOKS = 8
BEFORE = "memory_before_edit"  # of the session: the last edit's memory, and what it said before
CHANGED_SINCE = "It has changed since, and can't be undone any more."


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The memory book: every memory that the filters in the URL let through, pinned ones and newest first."""
    form = FilterForm(request.GET)
    mine = Memory.objects.for_owner(request.user)
    page = Paginator(form.apply(mine.with_history()).order_by("-pinned", "-pk"), PAGE).get_page(request.GET.get("page"))
    page.object_list = name_witnesses(list(page.object_list))
    context = {"form": form, "page": page, "any": mine.present().exists(), "chat": _chat_of(request, form)}
    if not wants_partial(request):
        context |= _books(request)
    return render(request, "memories/_list.html" if wants_partial(request) else "memories/index.html", context)


def _books(request: HttpRequest) -> dict[str, Any]:
    """The latest chats and characters of whom something is remembered."""
    known = Exists(Memory.objects.for_owner(request.user).active().filter(chat=OuterRef("pk")))
    of_whom = Exists(Memory.objects.for_owner(request.user).active().filter(character=OuterRef("pk")))
    return {
        "chats": Chat.objects.for_owner(request.user).filter(known).order_by("-updated_at")[:BOOKS],
        "characters": Character.objects.for_owner(request.user).filter(of_whom).order_by("name")[:BOOKS],
    }


def _chat_of(request: HttpRequest, form: FilterForm) -> Chat | None:
    chat_id = form.values().get("chat")
    return Chat.objects.for_owner(request.user).filter(pk=chat_id).first() if chat_id else None


@login_required
@require_safe
def search_everything(request: HttpRequest) -> HttpResponse:
    """Memories and messages that answer the words in ``?q=``."""
    words = request.GET.get("q", "").replace("\x00", "").strip()[:500]
    reply = search(request.user, SearchQuery(query=words, limit=30)) if words else None
    return render(request, "memories/search.html", {"words": words, "reply": reply})


@login_required
@require_safe
def detail(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """One memory, with the messages that it came from and its whole chain."""
    memory = own_memory(request, memory_id)
    name_witnesses([memory])
    context: dict[str, Any] = {"memory": memory}
    if not wants_partial(request):
        whole = whole_of(memory)
        context |= {
            "said": memory.sources.select_related("message__chat", "swipe").order_by("message__index"),
            "chain": chain_of(memory),
            "whole": whole,
            "can_unmerge": memory.is_active and is_merge(memory),
            "can_unsplit": memory.is_active and whole is not None and whole.state == Memory.State.SUPERSEDED,
        }
    return render(request, _template(request, "memory"), context)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Correct a memory in place. What a person wrote is never overwritten by a run."""
    memory = own_memory(request, memory_id)
    form = MemoryForm(request.POST) if request.method == "POST" else MemoryForm.of(memory)
    if request.method == "POST" and form.is_valid():
        before = {name: getattr(memory, name) for name in form.cleaned_data}
        operations.edit_memory(memory, editor=str(request.user), **form.cleaned_data)
        request.session[BEFORE] = {"memory": str(memory.pk), "values": before}
        return _shown(request, memory, "Saved.", undo="revert")
    status = 400 if request.method == "POST" else 200
    return render(request, _template(request, "edit"), {"memory": memory, "form": form}, status=status)


@login_required
@require_POST
def revert(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo the last edit."""
    memory = own_memory(request, memory_id)
    before = request.session.pop(BEFORE, {})
    if before.get("memory") == str(memory.pk):
        operations.edit_memory(memory, editor=str(request.user), **before["values"])
        return _shown(request, memory, "It says what it said before.")
    messages.error(request, CHANGED_SINCE)
    return _shown(request, memory)


@login_required
@require_POST
def unmerge(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo a merge: what was merged holds again."""
    memory = own_memory(request, memory_id)
    try:
        members = operations.undo_merge(memory)
    except Conflict as error:
        messages.error(request, error.detail)
        return redirect("memories:detail", memory_id=memory.pk)
    messages.success(request, f"The {len(members)} memories stand for themselves again.")
    return redirect("memories:detail", memory_id=members[0].pk)


@login_required
@require_POST
def unsplit(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo a split: what was split holds again, its parts are retired."""
    memory = own_memory(request, memory_id)
    try:
        whole = operations.undo_split(memory)
    except Conflict as error:
        messages.error(request, error.detail)
        return redirect("memories:detail", memory_id=memory.pk)
    messages.success(request, "It is one memory again.")
    return redirect("memories:detail", memory_id=whole.pk)


@login_required
@require_POST
def delete(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    memory = own_memory(request, memory_id)
    operations.delete_memory(memory)
    return _shown(request, memory, "Forgotten.", undo="restore")


@login_required
@require_POST
def restore(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo a deletion."""
    memory = own_memory(request, memory_id)
    operations.restore_memory(memory)
    return _shown(request, memory)


@login_required
@require_POST
def toggle(request: HttpRequest, memory_id: UUID, mark: str) -> HttpResponse:
    """Set or take away a mark: ``pinned`` or ``hidden``."""
    memory = own_memory(request, memory_id)
    operations.edit_memory(memory, editor=str(request.user), **{mark: not getattr(memory, mark)})
    return _shown(request, memory)


@login_required
@require_http_methods(["GET", "POST"])
def merge(request: HttpRequest) -> HttpResponse:
    """Put one text in the place of the memories that ``?memory=`` names; they stay, as replaced."""
    chosen = request.POST if request.method == "POST" else request.GET
    mine = Memory.objects.for_owner(request.user).active().with_history()
    memories = list(mine.filter(pk__in=_ids(chosen.getlist("memory"))).order_by("pk"))
    form = MergeForm.of(memories, request.POST if request.method == "POST" else None)
    if form.is_valid():
        memory = operations.merge_by_hand(memories, form.cleaned_data["text"], editor=str(request.user))
        undo = reverse("memories:unmerge", args=[memory.pk])
        messages.success(request, f"{len(memories)} memories are one now.", extra_tags=f"undo {undo}")
        return redirect("memories:detail", memory_id=memory.pk)
    status = 400 if request.method == "POST" else 200
    chat_id = next((memory.chat_id for memory in memories if memory.chat_id), None)
    home = reverse("memories:book-timeline", args=[chat_id]) if chat_id else reverse("memories:index")
    context = {"form": form, "memories": memories, "home": home}
    return render(request, "memories/merge.html", context, status=status)


def _ids(values: list[str]) -> list[UUID]:
    """Those of the values that are ids."""
    found = []
    for value in values[:50]:
        with suppress(ValueError):
            found.append(UUID(value))
    return found


@login_required
@require_http_methods(["GET", "POST"])
def split(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Put several memories, a line each, in the place of one; it stays, as replaced."""
    memory = own_memory(request, memory_id)
    if not memory.is_active:
        messages.error(request, "Only a memory that holds can be split.")
        return redirect("memories:detail", memory_id=memory.pk)
    form = SplitForm(request.POST) if request.method == "POST" else SplitForm({"texts": memory.text})
    if request.method == "POST" and form.is_valid():
        parts = operations.split_memory(memory, form.cleaned_data["texts"], editor=str(request.user))
        undo = reverse("memories:unsplit", args=[parts[0].pk])
        messages.success(request, f"It is {len(parts)} memories now.", extra_tags=f"undo {undo}")
        return redirect("memories:detail", memory_id=parts[0].pk)
    status = 400 if request.method == "POST" else 200
    return render(request, "memories/split.html", {"form": form, "memory": memory}, status=status)


def _shown(request: HttpRequest, memory: Memory, words: str = "", undo: str = "") -> HttpResponse:
    """After a change: the entry for htmx, its page for a browser without; each tells how to undo it."""
    if not request.htmx:  # type: ignore[attr-defined]
        tags = f"undo {reverse(f'memories:{undo}', args=[memory.pk])}" if undo else ""
        if words:
            messages.success(request, words, extra_tags=tags)
        return redirect("memories:detail", memory_id=memory.pk)
    memory = own_memory(request, memory.pk)
    name_witnesses([memory])
    context = {"memory": memory, "changed": words, "undo": undo}
    return render(request, "memories/_memory.html", context)


def _template(request: HttpRequest, name: str) -> str:
    return f"memories/_{name}.html" if request.htmx else f"memories/{name}.html"  # type: ignore[attr-defined]


@login_required
@require_safe
def rail(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """What is remembered of a chat and its character, beside the conversation."""
    chat = own_chat(request, chat_id)
    best_first = ("-pinned", "-importance", "-pk")
    mine = Memory.objects.for_owner(request.user).filter(hidden=False).standing_in(chat)
    memories = mine.with_history().order_by(*best_first)
    context = {
        "chat": chat,
        "session": name_witnesses(list(memories.filter(tier=Memory.Tier.SESSION)[:RAIL])),
        "long_term": name_witnesses(list(memories.filter(tier=Memory.Tier.LONG_TERM)[:RAIL])),
    }
    return render(request, _template(request, "rail"), context)
