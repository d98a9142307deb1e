"""Views that merge several memories into one, or split one into several."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.common.pages.forms import refused_into
from apps.common.problems import Conflict
from apps.memories import operations
from apps.memories.forms.memories import MergeForm, SplitForm
from apps.memories.models import Memory
from apps.memories.views.access import own_memory


@login_required
@require_http_methods(["GET", "POST"])
def merge(request: HttpRequest) -> HttpResponse:
    """Merge the memories in ``?memory=`` into one text."""
    chosen = request.POST if request.method == "POST" else request.GET
    active = Memory.objects.for_owner(request.user).active().with_history()
    memories = list(active.filter(pk__in=_valid_ids(chosen.getlist("memory"))).order_by("pk"))
    form = MergeForm.of(memories, request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refused_into(form):
            memory = operations.merge_by_hand(memories, form.cleaned_data["text"], editor=str(request.user))
            undo, count = reverse("memories:unmerge", args=[memory.pk]), {"count": len(memories)}
            messages.success(request, gettext("%(count)s memories were merged.") % count, extra_tags=f"undo {undo}")
            return redirect("memories:detail", memory_id=memory.pk)
    status = 400 if request.method == "POST" else 200
    chat_id = next((memory.chat_id for memory in memories if memory.chat_id), None)
    back_url = reverse("memories:book-timeline", args=[chat_id]) if chat_id else reverse("memories:index")
    context = {"form": form, "memories": memories, "back_url": back_url}
    return render(request, "memories/merge.html", context, status=status)


def _valid_ids(values: list[str]) -> list[UUID]:
    """Return the valid ids among the first 50 values."""
    ids = []
    for value in values[:50]:
        with suppress(ValueError):
            ids.append(UUID(value))
    return ids


@login_required
@require_http_methods(["GET", "POST"])
def split(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Split a memory into several, one per line of the form's text."""
    memory = own_memory(request, memory_id)
    if not memory.is_active:
        messages.error(request, gettext("Only an active memory can be split."))
        return redirect("memories:detail", memory_id=memory.pk)
    form = SplitForm(request.POST) if request.method == "POST" else SplitForm(initial={"texts": memory.text})
    if request.method == "POST" and form.is_valid():
        with refused_into(form):
            parts = operations.split_memory(memory, form.cleaned_data["texts"], editor=str(request.user))
            undo, count = reverse("memories:unsplit", args=[parts[0].pk]), {"count": len(parts)}
            messages.success(
                request, gettext("The memory was split into %(count)s.") % count, extra_tags=f"undo {undo}"
            )
            return redirect("memories:detail", memory_id=parts[0].pk)
    status = 400 if request.method == "POST" else 200
    return render(request, "memories/split.html", {"form": form, "memory": memory}, status=status)


def _undo(request: HttpRequest, memory: Memory, undo: Callable[[Memory], Sequence[Memory]]) -> HttpResponse:
    """Undo a merge or a split, and redirect to the first memory that is active again."""
    try:
        restored = undo(memory)
    except Conflict as error:
        messages.error(request, error.detail)
        return redirect("memories:detail", memory_id=memory.pk)
    count = len(restored)
    message = (
        gettext("The merge was undone: %(count)s memories are active again.") % {"count": count}
        if count > 1
        else gettext("The split was undone.")
    )
    messages.success(request, message)
    return redirect("memories:detail", memory_id=restored[0].pk)


@login_required
@require_POST
def unmerge(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo a merge: its members become active again."""
    return _undo(request, own_memory(request, memory_id), operations.undo_merge)


@login_required
@require_POST
def unsplit(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Undo a split: the original becomes active again, and its parts are retired."""
    return _undo(request, own_memory(request, memory_id), lambda part: [operations.undo_split(part)])
