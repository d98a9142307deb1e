"""Pages of replies: the panel above the composer, and the whole prompt of a chat."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.authentication import writer_of
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations.metadata import patch_metadata
from apps.chats.views.access import or_404, own_chat, wants_partial
from apps.common.document_patches import DocumentPatch
from apps.common.problems import Invalid, Problem
from apps.llm.backends import backend_for
from apps.llm.queries import generation_connection
from apps.replies.forms import NoteForm, ReplyForm
from apps.replies.operations import request_generation, stop_generation
from apps.replies.panel import panel_of
from apps.replies.prompts.assembly import assemble_whole
from apps.replies.queries import access_generation


@login_required
@require_http_methods(["GET", "POST"])
def panel(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the state of the chat's replies. A POST asks for one; without htmx, it leads back to the chat."""
    chat = own_chat(request, chat_id)
    if request.method == "GET":
        return _panel(request, chat)
    form = ReplyForm(request.POST, chat=chat)
    if not form.is_valid():
        return _panel(request, chat, "Choose what to ask for, and somebody who takes part in this chat.", 400)
    try:
        request_generation(request.user, chat.pk, **form.cleaned_data)
    except Problem as problem:
        return _panel(request, chat, problem.detail, problem.status)
    return _panel(request, chat) if wants_partial(request) else redirect("chats:detail", chat_id=chat.pk)


@login_required
@require_POST
def stop(request: HttpRequest, generation_id: UUID) -> HttpResponse:
    """Stop a reply. Its text is kept."""
    generation = stop_generation(or_404(access_generation, request.user, generation_id))
    if not wants_partial(request):
        return redirect("chats:detail", chat_id=generation.chat_id)
    return _panel(request, own_chat(request, generation.chat_id))


def _panel(request: HttpRequest, chat: Chat, problem: str = "", status: int = 200) -> HttpResponse:
    template = "replies/_panel.html" if wants_partial(request) else "replies/panel.html"
    at_once = request.COOKIES.get("reply_on_send") != "off"
    context = {"chat": chat, "panel": panel_of(chat), "problem": problem, "at_once": at_once}
    return render(request, template, context, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def prompt(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the whole prompt of the chat's next reply, as the model gets it. A POST changes the author's note."""
    chat = own_chat(request, chat_id)
    form = NoteForm(request.POST) if request.method == "POST" else NoteForm.from_chat(chat)
    if form.is_valid() and _change_note(request, chat, form):
        messages.success(request, "Saved. Applies from the next prompt.")
        return redirect("replies:prompt", chat_id=chat.pk)
    context_tokens = backend_for(chat.owner_id).context_tokens
    connection = generation_connection(chat.owner_id)
    context: dict[str, Any] = {
        "chat": chat,
        "connection": connection,
        "context_tokens": context_tokens,
        "form": form,
    }
    try:
        context["prompt"] = assemble_whole(chat, context_tokens=context_tokens, leave_trace=False)
    except Invalid as problem:
        context["problem"] = problem.detail
    return render(request, "replies/prompt.html", context, status=400 if form.errors else 200)


def _change_note(request: HttpRequest, chat: Chat, form: NoteForm) -> bool:
    """Store the author's note, or add the problem to the form. Return whether it was stored."""
    guard = Guard(form.cleaned_data["integrity"], rebase=True, writer=writer_of(request))
    try:
        patch_metadata(request.user, chat.pk, DocumentPatch(merge=form.metadata), guard)
    except Problem as problem:
        form.add_error(None, f"The note was not saved. {problem.detail} Reload the page to see the chat as it is now.")
        return False
    return True
