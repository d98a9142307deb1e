"""Views of the repair note under the reply that it is about."""

from contextlib import suppress
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.chats.views.access import own_chat, wants_partial
from apps.common.problems import Missing
from apps.prompts.repair_notes import cancel_note, render_note
from apps.prompts.retrieval.texts import pending_note


@login_required
@require_safe
def note(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the chat's pending note. For an htmx request, ``?message`` is the reply under which it stands."""
    chat = own_chat(request, chat_id)
    if not wants_partial(request):
        return render(request, "prompts/repair.html", {"chat": chat, "note": pending_note(chat)})
    return HttpResponse(render_note(chat, request.GET.get("message", "")))


@login_required
@require_POST
def cancel(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Keep the note out of the next prompt. One that is gone by now needs no canceling."""
    chat = own_chat(request, chat_id)
    with suppress(Missing):
        cancel_note(chat, editor=str(request.user))
    if not wants_partial(request):
        return redirect("chats:detail", chat.pk)
    return HttpResponse(render_note(chat, request.GET.get("message", "")))
