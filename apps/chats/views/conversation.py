"""Show a chat a window at a time, write to it, and edit its messages."""

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from apps.accounts.authentication import writer_of
from apps.accounts.models import User
from apps.chats.forms.messages import EditForm, MessageForm, PositionForm
from apps.chats.locking import Guard, IntegrityConflict, PatchConflict
from apps.chats.models import Chat, Message
from apps.chats.operations import append_messages, patch_messages, update_chat
from apps.chats.pages import conversation as pages
from apps.chats.pages.chat_list import chat_entries
from apps.chats.pages.company import company_of
from apps.chats.pages.models import model_menu
from apps.chats.queries import access_chat, list_chats
from apps.chats.queries.changes import HistoryGone
from apps.chats.quotas import QuotaExceeded
from apps.chats.views.access import own_chat, own_message, wants_partial

LISTED_CHATS = 30  # shown in the sidebar of the conversation
CONFLICTS = (IntegrityConflict, PatchConflict, HistoryGone)


@login_required
@require_safe
def detail(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show a chat: its end, the window around the index ``?at=``, or the first message on the date ``?on=``."""
    chat = own_chat(request, chat_id)
    at = _requested_index(request, chat)
    excerpt = pages.last_excerpt(request.user, chat) if at is None else pages.excerpt_around(request.user, chat, at)
    return _page(request, excerpt, at=at)


def _page(
    request: HttpRequest,
    excerpt: pages.Excerpt,
    *,
    at: int | None = None,
    form: MessageForm | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "chat": excerpt.chat,
        "company": company_of(request.user, [excerpt.chat])[excerpt.chat.pk],
        "models": model_menu(excerpt.chat),
        "excerpt": excerpt,
        "at": at,
        "form": form or MessageForm(chat=excerpt.chat, user=cast(User, request.user)),
        "entries": chat_entries(request.user, list_chats(request.user)[:LISTED_CHATS]),
    }
    return render(request, "chats/detail.html", context, status=status)


def _requested_index(request: HttpRequest, chat: Chat) -> int | None:
    """Return the index that the URL asks for, limited to the chat; None for the end."""
    form = PositionForm(request.GET)
    at, on = form.value_of("at"), form.value_of("on")
    if not chat.message_count or (at is None and on is None):
        return None
    index = pages.index_at(request.user, chat, on) if at is None else at
    return min(int(index), chat.message_count - 1)


@login_required
@require_safe
def window(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Render the turns before or after the index ``?before=`` or ``?after=``; without htmx, as a page."""
    chat = own_chat(request, chat_id)
    before, after = (_parse_index(request.GET.get(name), chat) for name in ("before", "after"))
    if before is not None:
        excerpt, edge, at = pages.excerpt_before(request.user, chat, before), "before", None
    else:
        start = 0 if after is None else after + 1
        excerpt, edge, at = pages.excerpt_of(request.user, chat.pk, start), "after", start
    if not wants_partial(request):
        return _page(request, excerpt, at=at)
    return _window(request, excerpt, edge)


@login_required
@require_safe
def turns(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Render the turns from index ``?from=`` up to ``?to=``, as many as one window may have."""
    chat = own_chat(request, chat_id)
    start, end = (_parse_index(request.GET.get(name), chat) or 0 for name in ("from", "to"))
    excerpt = pages.excerpt_of(request.user, chat.pk, start, max(end - start, 0))
    return _window(request, excerpt)


def _window(request: HttpRequest, excerpt: pages.Excerpt, edge: str = "") -> HttpResponse:
    """Render turns, with the rev of the chat that they are of: a page of another state has to read its turns again."""
    response = render(request, "chats/_window.html", {"chat": excerpt.chat, "excerpt": excerpt, "edge": edge})
    response["Loci-Rev"] = str(excerpt.chat.rev)
    return response


def _parse_index(value: Any, chat: Chat) -> int | None:
    """Return an index from the request, limited to the chat; None if it is not a number."""
    text = str(value or "")
    return min(int(text), chat.message_count) if text.isascii() and text.isdigit() and len(text) < 10 else None


@login_required
@require_POST
def write(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Append a message. Appends commute, so messages written in the meantime cause no conflict.

    One written as another persona makes that the chat's.
    """
    chat = own_chat(request, chat_id)
    form = MessageForm(request.POST, chat=chat, user=cast(User, request.user))
    if not form.is_valid():
        return _composer_errors(request, chat, form)
    try:
        chat = _append(request, chat, form)
    except QuotaExceeded as problem:
        form.add_error("text", problem.detail)
        return _composer_errors(request, chat, form)
    return _new_turns(request, chat) if wants_partial(request) else redirect("chats:detail", chat_id=chat.pk)


@transaction.atomic
def _append(request: HttpRequest, chat: Chat, form: MessageForm) -> Chat:
    """Append the message of a valid form. Return the chat as it is then. Raise QuotaExceeded."""
    guard = Guard(writer=writer_of(request))
    if form.persona:
        update_chat(chat, guard=guard, persona=form.persona)
    return append_messages(request.user, chat.pk, [form.parsed()], guard).chat


def _new_turns(request: HttpRequest, chat: Chat) -> HttpResponse:
    """Render the turns from ``next`` on, which the page doesn't show yet; reload the page if there are too many."""
    start = _parse_index(request.POST.get("next"), chat)
    if start is None or chat.message_count - start > pages.WINDOW_SIZE:
        return HttpResponseClientRedirect(reverse("chats:detail", args=[chat.pk]))
    context = {"chat": chat, "excerpt": pages.excerpt_of(request.user, chat.pk, start), "edge": "after"}
    response = render(request, "chats/_new_turns.html", context)
    response["HX-Trigger"] = "written"
    return response


def _composer_errors(request: HttpRequest, chat: Chat, form: MessageForm) -> HttpResponse:
    """Show the form's errors, and keep the text in the composer."""
    if not wants_partial(request):
        return _page(request, pages.last_excerpt(request.user, chat), form=form, status=400)
    response = render(request, "chats/_composer_errors.html", {"form": form}, status=400)
    response["HX-Retarget"], response["HX-Reswap"] = "#composer-errors", "innerHTML"
    return response


@login_required
@require_safe
def message(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Render a turn."""
    return turn_response(request, own_message(request, chat_id, message_id))


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Edit a message in place. If somebody else has edited it in the meantime, show both texts."""
    chat = own_chat(request, chat_id)
    row = own_message(request, chat_id, message_id)
    if request.method == "GET":
        return _editor(request, chat, row, EditForm.from_message(row, chat.integrity))
    form = EditForm(request.POST)
    if not form.is_valid():
        return _editor(request, chat, row, form, status=400)
    guard = Guard(form.cleaned_data["integrity"], rebase=True, writer=writer_of(request))
    try:
        if patch := form.patch(row):
            patch_messages(request.user, chat.pk, [patch], guard)
    except CONFLICTS:
        return _conflict(request, chat_id, message_id, form)
    return turn_response(request, own_message(request, chat_id, message_id))


def _conflict(request: HttpRequest, chat_id: UUID, message_id: UUID, form: EditForm) -> HttpResponse:
    """Render the editor with the stored text above the submitted one, which replaces it if it is saved again."""
    chat = access_chat(request.user, chat_id)
    data = {"text": form.cleaned_data["text"], "integrity": chat.integrity}
    row = own_message(request, chat_id, message_id)
    return _editor(request, chat, row, EditForm(data), theirs=row.mes, status=409)


def _editor(
    request: HttpRequest, chat: Chat, row: Message, form: EditForm, *, theirs: str | None = None, status: int = 200
) -> HttpResponse:
    template = "chats/_edit.html" if wants_partial(request) else "chats/edit.html"
    context = {"chat": chat, "message": row, "form": form, "theirs": theirs}
    response = render(request, template, context, status=status)
    response["HX-Retarget"] = f"#m-{row.index}"  # an editor with errors replaces the editor in the page, not a turn
    return response


def turn_response(request: HttpRequest, row: Message) -> HttpResponse:
    """Render a turn; without htmx, redirect to the conversation around it."""
    if not wants_partial(request):
        return redirect(f"{reverse('chats:detail', args=[row.chat_id])}?at={row.index}#m-{row.index}")
    context = {"chat": row.chat, "turn": pages.turn_of(request.user, row)}
    return render(request, "chats/_turn.html", context)
