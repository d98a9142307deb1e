"""Page and partial on which a person writes a memory: in the memory book, or from a message of a chat."""

import datetime as dt
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.pages.markup import plain_text
from apps.chats.views.access import own_message, wants_partial
from apps.common.pages.forms import refused_into
from apps.memories import operations
from apps.memories.forms.memories import NewMemoryForm
from apps.memories.relative_dates import dated
from apps.memories.views.access import own_book
from apps.memories.views.memories import change_response

MAX_PROPOSED_LENGTH = 1000  # characters of a message


@login_required
@require_http_methods(["GET", "POST"])
def remember(request: HttpRequest, **scope: UUID) -> HttpResponse:
    """Show the form for a new memory, or create it. ``?message=`` names its source, ``?text=`` a part of that."""
    book = own_book(request, **scope)
    message = source_message(request, book.chat)
    text = proposed_text(message, request.GET.get("text", ""), cast(User, request.user).zone)
    form = NewMemoryForm(book, request.POST if request.method == "POST" else None, text=text)
    if form.is_valid():
        with refused_into(form):
            new = operations.NewMemory(sources=[message] if message else [], **form.values(book))
            memory = operations.create_memory(request.user, new, editor=str(request.user))
            if wants_partial(request):
                response = change_response(request, memory, gettext("Remembered."), undo="delete")
                response["HX-Trigger"] = "remembered"  # makes the sidebar reload itself
                return response
            undo = reverse("memories:delete", args=[memory.pk])
            messages.success(request, gettext("Remembered."), extra_tags=f"undo {undo}")
            return redirect(book.url("timeline"))
    template = "memories/_remember.html" if wants_partial(request) else "memories/remember.html"
    context = {"book": book, "chat": book.chat, "character": book.character, "message": message, "form": form}
    return render(request, template, context, status=400 if form.errors else 200)


def source_message(request: HttpRequest, chat: Chat | None) -> Message | None:
    """Return the message of the chat that ``message`` names, if it is given. Raise Http404."""
    given = (request.POST if request.method == "POST" else request.GET).get("message", "")
    if not given or chat is None:
        return None
    try:
        message_id = UUID(given)
    except ValueError as error:
        raise Http404(gettext("This is not a message.")) from error
    return own_message(request, chat.pk, message_id)


def proposed_text(message: Message | None, chosen: str, zone: dt.tzinfo) -> str:
    """Return the text that the form begins with: what was chosen of the message, else its beginning, with dates."""
    if message is None:
        return ""
    text = plain_text(chosen.replace("\x00", "") or message.mes, MAX_PROPOSED_LENGTH)
    return dated(text, message.sent_at, zone) if message.sent_at else text
