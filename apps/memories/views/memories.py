"""Views of memories: the list, single memories and their correction, and the sidebar of a chat."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Character, Chat
from apps.chats.views.access import own_chat, wants_partial
from apps.common.pages.forms import refused_into
from apps.llm.queries import generation_connection
from apps.memories import operations
from apps.memories.forms.memories import FilterForm, MemoryForm
from apps.memories.models import Memory
from apps.memories.operations.merging import is_merge
from apps.memories.queries.memories import add_witness_names, replacement_chain, with_copies
from apps.memories.views.access import own_memory

PAGE_SIZE = 50
SIDEBAR_SIZE = 12
LISTED_BOOKS = 8
EDIT_SESSION_KEY = "memory_before_edit"  # holds id and former values of the memory edited last
# How a memory is shown on pages that don't have its card, by ``?as=``.
SHAPES = {"line": "memories/known/_line.html", "recall": "memories/_recall_actions.html"}
UNDO_EXPIRED = _("This edit can no longer be undone.")


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the memories that match the filters in the query string, pinned ones first, then newest first."""
    form = FilterForm(request.GET)
    own_memories = Memory.objects.for_owner(request.user).own()
    rows = form.apply(own_memories.with_history()).order_by("-pinned", "-pk")
    if not form.values().get("chat"):
        rows = rows.without_copies(request.user)
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    page.object_list = add_witness_names(list(page.object_list))
    chat_id = form.values().get("chat")
    chat = Chat.objects.for_owner(request.user).filter(pk=chat_id).first() if chat_id else None
    context = {"form": form, "page": page, "has_memories": own_memories.present().exists(), "chat": chat}
    if not wants_partial(request):
        context |= _recent_books(request)
    return render(request, "memories/_list.html" if wants_partial(request) else "memories/index.html", context)


def _recent_books(request: HttpRequest) -> dict[str, Any]:
    """Return the most recently updated chats and the first characters by name that have active memories."""
    has_memories = Exists(Memory.objects.for_owner(request.user).active().filter(chat=OuterRef("pk")))
    is_remembered = Exists(Memory.objects.for_owner(request.user).active().filter(character=OuterRef("pk")))
    return {
        "chats": Chat.objects.for_owner(request.user).own().filter(has_memories).order_by("-updated_at")[:LISTED_BOOKS],
        "characters": Character.objects.for_owner(request.user)
        .own()
        .filter(is_remembered)
        .order_by("name")[:LISTED_BOOKS],
    }


@login_required
@require_safe
def welcome(request: HttpRequest) -> HttpResponse:
    """Render the last step of the welcome: the most important of the first memories of the user's chats."""
    memories = Memory.objects.for_owner(request.user).own().active().filter(chat__isnull=False, hidden=False)
    memory = memories.select_related("valid_from").order_by("-importance", "pk").first()
    has_model = generation_connection(request.user) is not None
    return render(request, "memories/_welcome.html", {"memory": memory, "has_model": has_model})


@login_required
@require_safe
def detail(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Show a memory with its source messages and its chain of replacements."""
    memory = own_memory(request, memory_id)
    add_witness_names([memory])
    context: dict[str, Any] = {"memory": memory}
    if not wants_partial(request):
        original = memory.split_from
        context |= {
            "sources": memory.sources.filter(message__chat__deleted_at=None)
            .select_related("message__chat", "swipe")
            .order_by("message__index"),
            "chain": replacement_chain(memory),
            "original": original,
            "can_unmerge": memory.is_active and is_merge(memory),
            "can_unsplit": memory.is_active and original is not None and original.state == Memory.State.SUPERSEDED,
        }
    return render(request, _template(request, "memory"), context)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Correct a memory in place."""
    memory = own_memory(request, memory_id)
    form = MemoryForm(request.POST) if request.method == "POST" else MemoryForm.of(memory)
    if request.method == "POST" and form.is_valid():
        before = {name: getattr(memory, name) for name in form.cleaned_data}
        with refused_into(form):
            _edit(request, memory, **form.cleaned_data)
            request.session[EDIT_SESSION_KEY] = {"memory": str(memory.pk), "values": before}
            return change_response(request, memory, gettext("Saved."), undo="revert")
    status = 400 if request.method == "POST" else 200
    return render(
        request, _template(request, "edit"), {"memory": memory, "form": form, "shapes": SHAPES}, status=status
    )


@login_required
@require_POST
def revert(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo the last edit."""
    memory = own_memory(request, memory_id)
    before = request.session.pop(EDIT_SESSION_KEY, {})
    if before.get("memory") == str(memory.pk):
        _edit(request, memory, **before["values"])
        return change_response(request, memory, gettext("The edit was undone."))
    messages.error(request, UNDO_EXPIRED)
    return change_response(request, memory)


@login_required
@require_POST
def delete(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Delete a memory, leaving a tombstone."""
    memory = own_memory(request, memory_id)
    with transaction.atomic():
        for copy in with_copies(request.user, [memory.pk]).present():
            operations.delete_memory(copy)
    return change_response(request, memory, gettext("Forgotten."), undo="restore")


@login_required
@require_POST
def restore(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo a deletion."""
    memory = own_memory(request, memory_id)
    with transaction.atomic():
        for copy in with_copies(request.user, [memory.pk]):
            operations.restore_memory(copy)
    return change_response(request, memory)


@login_required
@require_POST
def toggle(request: HttpRequest, memory_id: UUID, flag: str) -> HttpResponse:
    """Toggle a flag of a memory: ``pinned`` or ``hidden``."""
    memory = own_memory(request, memory_id)
    _edit(request, memory, **{flag: not getattr(memory, flag)})
    return change_response(request, memory)


@transaction.atomic
def _edit(request: HttpRequest, memory: Memory, **changes: Any) -> None:
    """Correct a memory and its copies in branches."""
    copies = with_copies(request.user, [memory.pk]).filter(deleted_at__isnull=memory.deleted_at is None)
    for copy in list(copies):
        operations.edit_memory(copy, editor=str(request.user), **changes)


def change_response(request: HttpRequest, memory: Memory, message: str = "", undo: str = "") -> HttpResponse:
    """Return the memory's card to htmx, else a redirect to its page. ``undo`` names the URL that undoes the change."""
    if not wants_partial(request):
        tags = f"undo {reverse(f'memories:{undo}', args=[memory.pk])}" if undo else ""
        if message:
            messages.success(request, message, extra_tags=tags)
        return redirect("memories:detail", memory_id=memory.pk)
    memory = own_memory(request, memory.pk)
    add_witness_names([memory])
    context = {"memory": memory, "status_message": message, "undo": undo}
    return render(request, _template(request, "memory"), context)


def _template(request: HttpRequest, name: str) -> str:
    """Return the name of the partial template for htmx, else that of the whole page. ``?as=`` asks for another one."""
    if wants_partial(request) and name == "memory" and request.GET.get("as") in SHAPES:
        return SHAPES[request.GET["as"]]
    return f"memories/_{name}.html" if wants_partial(request) else f"memories/{name}.html"


@login_required
@require_safe
def rail(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the active memories of a chat in the sidebar of the conversation."""
    chat = own_chat(request, chat_id)
    best_first = ("-pinned", "-importance", "-pk")
    active = Memory.objects.for_owner(request.user).filter(hidden=False).active_in(chat)
    memories = active.with_history().order_by(*best_first)
    context = {
        "chat": chat,
        "session": add_witness_names(list(memories.filter(tier=Memory.Tier.SESSION)[:SIDEBAR_SIZE])),
        "long_term": add_witness_names(list(memories.filter(tier=Memory.Tier.LONG_TERM)[:SIDEBAR_SIZE])),
    }
    return render(request, _template(request, "rail"), context)
