"""The panel above the composer: ask for replies, follow and stop them, close messages about failed ones."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.chats.models import Chat
from apps.chats.views.access import or_404, own_chat, wants_partial
from apps.common.problems import Conflict, Problem
from apps.replies.forms import ReplyForm
from apps.replies.models import Generation
from apps.replies.operations import (
    answer_sent,
    dismiss_generation,
    request_generation,
    settle_ended,
    stop_generation,
)
from apps.replies.panel import panel_of
from apps.replies.queries import access_generation


@login_required
@require_http_methods(["GET", "POST"])
def panel(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the state of the chat's replies. A POST asks for one; without htmx, it leads back to the chat.

    A POST with ``sent`` is made by the page itself, since a message was sent. It is no error that the message is
    answered already, by another tab, or that another reply is being written, or was stopped in the meantime.
    """
    chat = own_chat(request, chat_id)
    if request.method == "GET":
        return _panel(request, chat)
    form = ReplyForm(request.POST, chat=chat)
    if not form.is_valid():
        return _panel(request, chat, gettext("Choose what to ask for, and somebody who takes part in this chat."), 400)
    asked = form.cleaned_data
    during = asked.pop("during")
    try:
        if "sent" in request.POST:
            whose = {"character": asked["character"], "preset": asked["preset"]}
            answer_sent(request.user, chat.pk, during=during, **whose)
        else:
            request_generation(request.user, chat.pk, **asked | {"mode": _mode_now(chat, asked["mode"])})
    except Problem as problem:
        return _panel(request, chat, problem.detail, problem.status)
    return _panel(request, chat) if wants_partial(request) else redirect("chats:detail", chat_id=chat.pk)


def _mode_now(chat: Chat, mode: str) -> str:
    """Return what a button that the page has shown asks for now. Raise Conflict if that can't be asked for any more."""
    settle_ended(chat)  # what a failed reply has left is there before its "Try again" is understood
    now = panel_of(chat)
    if mode == Generation.Mode.REPLY and mode not in now.modes and now.retry_mode:
        return now.retry_mode  # the text came after the button
    if now.modes and mode not in now.modes:  # another tab was faster
        raise Conflict(gettext("The chat has changed in the meantime. This is how it stands now."))
    return mode


@login_required
@require_POST
def stop(request: HttpRequest, generation_id: UUID) -> HttpResponse:
    """Stop a reply. Its text is kept."""
    generation = stop_generation(or_404(access_generation, request.user, generation_id))
    if not wants_partial(request):
        return redirect("chats:detail", chat_id=generation.chat_id)
    return _panel(request, own_chat(request, generation.chat_id))


@login_required
@require_POST
def dismiss(request: HttpRequest, generation_id: UUID) -> HttpResponse:
    """Close the message about a reply that failed."""
    generation = dismiss_generation(or_404(access_generation, request.user, generation_id))
    if not wants_partial(request):
        return redirect("chats:detail", chat_id=generation.chat_id)
    return _panel(request, own_chat(request, generation.chat_id))


def _panel(request: HttpRequest, chat: Chat, problem: str = "", status: int = 200) -> HttpResponse:
    template = "replies/_panel.html" if wants_partial(request) else "replies/panel.html"
    at_once = request.COOKIES.get("reply_on_send") != "off"
    context = {"chat": chat, "panel": panel_of(chat), "problem": problem, "at_once": at_once}
    return render(request, template, context, status=status)
