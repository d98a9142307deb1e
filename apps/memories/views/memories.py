"""The pages of single memories: all of them, search, corrections, and a chat's rail."""

from contextlib import suppress
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Chat
from apps.memories import operations
from apps.memories.forms import FilterForm, MemoryForm, MergeForm, SplitForm
from apps.memories.models import Memory
from apps.memories.search import SearchQuery, search
from apps.memories.views.access import own_chat, own_memory, wants_partial

PAGE = 50
RAIL = 12


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The memory book: every memory that the filters in the URL let through, pinned ones and newest first."""
    form = FilterForm(request.GET)
    mine = Memory.objects.for_owner(request.user)
    page = Paginator(form.apply(mine.with_history()).order_by("-pinned", "-pk"), PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "page": page, "any": mine.present().exists(), "chat": _chat_of(request, form)}
    return render(request, "memories/_list.html" if wants_partial(request) else "memories/index.html", context)


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
    memory = own_memory(request, memory_id)
    return render(request, _template(request, "memory"), {"memory": memory})


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Correct a memory in place. What a person wrote is never overwritten by a run."""
    memory = own_memory(request, memory_id)
    form = MemoryForm(request.POST) if request.method == "POST" else MemoryForm.of(memory)
    if request.method == "POST" and form.is_valid():
        operations.edit_memory(memory, editor=str(request.user), **form.cleaned_data)
        return _shown(request, memory)
    status = 400 if request.method == "POST" else 200
    return render(request, _template(request, "edit"), {"memory": memory, "form": form}, status=status)


@login_required
@require_POST
def delete(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    memory = own_memory(request, memory_id)
    operations.delete_memory(memory)
    return _shown(request, memory)


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
        messages.success(request, f"{len(memories)} memories are one now.")
        return redirect("memories:detail", memory_id=memory.pk)
    status = 400 if request.method == "POST" else 200
    return render(request, "memories/merge.html", {"form": form, "memories": memories}, status=status)


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
    form = SplitForm(request.POST) if request.method == "POST" else SplitForm({"texts": memory.text})
    if request.method == "POST" and form.is_valid():
        parts = operations.split_memory(memory, form.cleaned_data["texts"], editor=str(request.user))
        messages.success(request, f"It is {len(parts)} memories now.")
        return redirect("memories:detail", memory_id=parts[0].pk)
    status = 400 if request.method == "POST" else 200
    return render(request, "memories/split.html", {"form": form, "memory": memory}, status=status)


def _shown(request: HttpRequest, memory: Memory) -> HttpResponse:
    """After a change: the entry for htmx, its page for a browser without."""
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("memories:detail", memory_id=memory.pk)
    return render(request, "memories/_memory.html", {"memory": own_memory(request, memory.pk)})


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
        "session": memories.filter(tier=Memory.Tier.SESSION)[:RAIL],
        "long_term": memories.filter(tier=Memory.Tier.LONG_TERM)[:RAIL],
    }
    return render(request, _template(request, "rail"), context)
