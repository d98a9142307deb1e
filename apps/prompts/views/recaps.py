"""Views of the recap that the chat page opens with after an absence."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.chats.views.access import own_chat, wants_partial
from apps.prompts.away_recaps import dismiss_recap, due_recap, is_awaited


@login_required
@require_safe
def recap(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Return the dialog, or with ``?text`` only its text, if a recap is due. Else return 204."""
    chat = own_chat(request, chat_id)
    due = due_recap(request.user, chat.pk)
    if due is None:
        return HttpResponse(status=204)
    template = "prompts/_recap_text.html" if "text" in request.GET else "prompts/_recap.html"
    return render(request, template, {"chat": chat, "recap": due, "is_awaited": is_awaited(due)})


@login_required
@require_POST
def dismiss(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    chat = own_chat(request, chat_id)
    dismiss_recap(request.user, chat.pk)
    return HttpResponse() if wants_partial(request) else redirect("chats:detail", chat_id=chat.pk)
