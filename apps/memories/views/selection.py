"""Views that change the memories chosen in a list, and undo that."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from apps.memories import operations
from apps.memories.forms.memories import ChosenForm
from apps.memories.queries.memories import with_copies
from apps.memories.views.access import redirect_back

SESSION_KEY = "memories_before_change"  # holds the id of the last change of several memories, and their former values


@login_required
@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Change the chosen memories, or lead to the page that merges them."""
    back_url = reverse("memories:index")
    form = ChosenForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("Choose at least one memory, and at most 200. Nothing was changed."))
        return redirect_back(request, back_url)
    chosen, action = form.cleaned_data["memory"], form.cleaned_data["action"]
    if action == "merge":
        return redirect(f"{reverse('memories:merge')}?{urlencode({'memory': chosen}, doseq=True)}")
    changes: Mapping[str, Any] = {"deleted_at": timezone.now()} if action == "forget" else ChosenForm.CHANGES[action]
    ids = [memory.pk for memory in with_copies(request.user, chosen).only("pk", "owner")]
    former = operations.change_memories(request.user, ids, editor=str(request.user), **changes)
    change_id = uuid4()
    request.session[SESSION_KEY] = {"change": str(change_id), "former": former}
    undo = reverse("memories:undo-chosen", args=[change_id])
    text = ChosenForm.DONE[action] % {"count": sum(str(memory_id) in former for memory_id in chosen)}
    messages.success(request, text, extra_tags=f"undo {undo}" if former else "")
    return redirect_back(request, back_url)


@login_required
@require_POST
def undo(request: HttpRequest, change_id: UUID) -> HttpResponse:
    """Undo the last change of several memories."""
    before = request.session.get(SESSION_KEY, {})
    if before.get("change") != str(change_id):
        messages.error(request, gettext("This change can no longer be undone."))
        return redirect_back(request, reverse("memories:index"))
    del request.session[SESSION_KEY]
    count = operations.undo_changes(request.user, before["former"])
    left = len(before["former"]) - count
    text = ngettext("Undone for %(count)s memory.", "Undone for %(count)s memories.", count) % {"count": count}
    messages.success(
        request, gettext("%(text)s %(left)s changed since and stayed.") % {"text": text, "left": left} if left else text
    )
    return redirect_back(request, reverse("memories:index"))
