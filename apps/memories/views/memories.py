"""The pages of what is remembered: the memory book, search, corrections, a chat's rail, and the progress of runs."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Chat
from apps.memories import operations, runs
from apps.memories.forms import FilterForm, MemoryForm
from apps.memories.models import ExtractionRun, Memory
from apps.memories.search import SearchQuery, search
from apps.memories.tasks import request_run

PAGE = 50
RAIL = 12


def access_memory(owner: Any, memory_id: UUID) -> Memory:
    """The owner's memory with its history; tombstones too, since a deletion can be undone."""
    return get_object_or_404(Memory.objects.for_owner(owner).with_history(), pk=memory_id)


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The memory book: every memory that the filters in the URL let through, pinned ones and newest first."""
    form = FilterForm(request.GET)
    mine = Memory.objects.for_owner(request.user)
    page = Paginator(form.apply(mine.with_history()).order_by("-pinned", "-pk"), PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "page": page, "any": mine.present().exists(), "chat": _chat_of(request, form)}
    partial = request.htmx and not request.htmx.boosted  # type: ignore[attr-defined]
    return render(request, "memories/_list.html" if partial else "memories/index.html", context)


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
    memory = access_memory(request.user, memory_id)
    return render(request, _template(request, "memory"), {"memory": memory})


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Correct a memory in place. What a person wrote is never overwritten by a run."""
    memory = access_memory(request.user, memory_id)
    form = MemoryForm(request.POST) if request.method == "POST" else MemoryForm.of(memory)
    if request.method == "POST" and form.is_valid():
        operations.edit_memory(memory, editor=str(request.user), **form.cleaned_data)
        return _shown(request, memory)
    status = 400 if request.method == "POST" else 200
    return render(request, _template(request, "edit"), {"memory": memory, "form": form}, status=status)


@login_required
@require_POST
def delete(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    memory = access_memory(request.user, memory_id)
    operations.delete_memory(memory)
    return _shown(request, memory)


@login_required
@require_POST
def restore(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo a deletion."""
    memory = access_memory(request.user, memory_id)
    operations.restore_memory(memory)
    return _shown(request, memory)


@login_required
@require_POST
def toggle(request: HttpRequest, memory_id: UUID, mark: str) -> HttpResponse:
    """Set or take away a mark: ``pinned`` or ``hidden``."""
    memory = access_memory(request.user, memory_id)
    operations.edit_memory(memory, editor=str(request.user), **{mark: not getattr(memory, mark)})
    return _shown(request, memory)


def _shown(request: HttpRequest, memory: Memory) -> HttpResponse:
    """After a change: the entry for htmx, its page for a browser without."""
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("memories:detail", memory_id=memory.pk)
    return render(request, "memories/_memory.html", {"memory": access_memory(request.user, memory.pk)})


def _template(request: HttpRequest, name: str) -> str:
    return f"memories/_{name}.html" if request.htmx else f"memories/{name}.html"  # type: ignore[attr-defined]


@login_required
@require_safe
def rail(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """What is remembered of a chat and its character, beside the conversation."""
    chat = _own_chat(request, chat_id)
    best_first = ("-pinned", "-importance", "-pk")
    memories = Memory.objects.for_owner(request.user).recallable().with_history().order_by(*best_first)
    context = {
        "chat": chat,
        "session": memories.filter(tier=Memory.Tier.SESSION).known_in(chat)[:RAIL],
        "long_term": memories.filter(tier=Memory.Tier.LONG_TERM).known_in(chat)[:RAIL],
    }
    return render(request, _template(request, "rail"), context)


@login_required
@require_safe
def progress(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """The chat's latest run; while it goes on, the partial asks again by itself."""
    return _progress(request, _own_chat(request, chat_id), was_active="watching" in request.GET)


def _progress(request: HttpRequest, chat: Chat, *, was_active: bool = False) -> HttpResponse:
    run = runs.latest_run(request.user, chat)
    reply = render(request, "memories/_progress.html", {"chat": chat, "run": run, "was_active": was_active})
    if was_active and run and not run.is_active:
        reply["HX-Trigger"] = "remembered"  # the rail reads itself anew
    return reply


@login_required
@require_POST
def extract(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Start a run over what is new; one under way goes on as it is."""
    chat = _own_chat(request, chat_id)
    request_run(request.user, chat)
    return _progressed(request, chat)


@login_required
@require_POST
def cancel(request: HttpRequest, run_id: UUID) -> HttpResponse:
    mine = ExtractionRun.objects.for_owner(request.user).select_related("chat")
    run = get_object_or_404(mine, pk=run_id)
    runs.cancel_run(run)
    return _progressed(request, run.chat)


def _progressed(request: HttpRequest, chat: Chat) -> HttpResponse:
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("chats:detail", chat_id=chat.pk)
    return _progress(request, chat, was_active=True)


def _own_chat(request: HttpRequest, chat_id: UUID) -> Chat:
    return get_object_or_404(Chat.objects.for_owner(request.user).select_related("character"), pk=chat_id)
