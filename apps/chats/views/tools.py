"""Change a message other than by editing its text, and undo changes.

Each action is a single write that can be undone, so there is no confirmation.
"""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.authentication import writer_of
from apps.accounts.models import User
from apps.chats.forms.chats import BranchForm
from apps.chats.forms.messages import MessageForm, MoveForm, SwipeForm, VersionForm
from apps.chats.forms.scenes import SceneForm
from apps.chats.locking import Guard
from apps.chats.message_data.namespaces import leave_out_change
from apps.chats.models import Chat, Message
from apps.chats.operations import Patch, PatchResult, branch_chat, patch_messages, undo_change
from apps.chats.scenes import scene_break_change, scene_break_removal
from apps.chats.views.access import own_chat, own_message, redirect_page, wants_partial
from apps.chats.views.conversation import turn_response
from apps.common.pages.forms import refused_into
from apps.common.problems import Problem


@login_required
@require_safe
def index(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Show the actions for a message: a menu, or without htmx a page."""
    row = own_message(request, chat_id, message_id)
    template = "chats/_tools.html" if wants_partial(request) else "chats/tools.html"
    return render(request, template, {"chat": row.chat, "message": row, "last": row.chat.message_count - 1})


@login_required
@require_POST
def swipe(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Show another swipe, or delete the active one."""
    row = own_message(request, chat_id, message_id)
    form = SwipeForm(request.POST)
    if form.is_valid():
        _patch(request, row, **form.parts(row))
    return turn_response(request, own_message(request, chat_id, message_id))


@login_required
@require_http_methods(["GET", "POST"])
def version(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Add a swipe to the message."""
    row = own_message(request, chat_id, message_id)
    form = VersionForm(request.POST or None)
    if form.is_valid():
        with refused_into(form):
            _patch(request, row, add_swipe=form.parsed())
            return turn_response(request, own_message(request, chat_id, message_id))
    return _render_form(
        request, row, form, gettext("Another version"), gettext("Existing versions are kept."), "version"
    )


@login_required
@require_POST
def hide(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Hide the message from the prompt, or show it again."""
    row = own_message(request, chat_id, message_id)
    _patch(request, row, values={"is_system": not row.is_system})
    return turn_response(request, own_message(request, chat_id, message_id))


@login_required
@require_POST
def leave_out(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Leave the message out of memory, or take it back."""
    row = own_message(request, chat_id, message_id)
    _patch(request, row, data=leave_out_change(not row.left_out))
    return turn_response(request, own_message(request, chat_id, message_id))


@login_required
@require_POST
def remove(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    row = own_message(request, chat_id, message_id)
    result = _patch(request, row, delete=True)
    return _redirect_with_undo(
        request, result, row.index - 1, gettext("Message %(index)s is deleted.") % {"index": row.index}
    )


@login_required
@require_POST
def move(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    row = own_message(request, chat_id, message_id)
    form = MoveForm(request.POST, last=row.chat.message_count - 1)
    if not form.is_valid():
        messages.error(
            request, gettext("Enter a position from 0 to %(number)s.") % {"number": row.chat.message_count - 1}
        )
        return redirect_page(request, f"{reverse('chats:detail', args=[row.chat_id])}?at={row.index}")
    to = form.cleaned_data["to"]
    result = _patch(request, row, move_to=to)
    return _redirect_with_undo(
        request, result, to, gettext("Message %(index)s is now message %(to)s.") % {"index": row.index, "to": to}
    )


@login_required
@require_http_methods(["GET", "POST"])
def insert(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Write a message before this one."""
    row = own_message(request, chat_id, message_id)
    form = MessageForm(request.POST or None, chat=row.chat, user=cast(User, request.user))
    if form.is_valid():
        with refused_into(form):
            result = _patch(request, row, insert_before=form.parsed())
            return _redirect_with_undo(request, result, row.index, gettext("The message is inserted."))
    return _render_form(
        request, row, form, gettext("Insert before message %(index)s") % {"index": row.index}, "", "insert"
    )


@login_required
@require_POST
def branch(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Create a branch of the chat that ends with this message."""
    row = own_message(request, chat_id, message_id)
    form = BranchForm(request.POST)
    fields = form.cleaned_data if form.is_valid() else {}
    created = branch_chat(
        request.user, chat_id, row.index, title=fields.get("title", ""), is_checkpoint=fields.get("checkpoint", False)
    )
    messages.success(
        request,
        gettext("“%(title)s” was created, with %(message_count)s messages.")
        % {"title": created.title, "message_count": created.message_count},
    )
    # A checkpoint is only saved: the user stays in the chat.
    target = chat_id if created.is_checkpoint else created.pk
    return redirect_page(
        request, reverse("chats:detail", args=[target]) + (f"?at={row.index}" if created.is_checkpoint else "")
    )


@login_required
@require_POST
def scene(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Set a scene break after the message, or remove it."""
    row = own_message(request, chat_id, message_id)
    form = SceneForm(request.POST)
    name = (form.cleaned_data["name"] or None) if form.is_valid() else None
    _patch(request, row, data=scene_break_removal() if row.ends_scene else scene_break_change(name=name))
    return turn_response(request, own_message(request, chat_id, message_id))


@login_required
@require_POST
def undo(request: HttpRequest, chat_id: UUID, rev: int | None = None) -> HttpResponse:
    """Undo the write with the given rev, or the last one of the chat; called again without a rev, the one before.

    If it can't be undone, show the recent changes, others of which may be what the user means.
    """
    chat = own_chat(request, chat_id)
    try:
        undone = undo_change(request.user, chat_id, Guard(chat.integrity, writer=writer_of(request)), rev)
    except Problem as problem:
        messages.error(request, problem.detail)
        return redirect_page(request, reverse("chats:changes", args=[chat_id]))
    messages.success(request, gettext("The change is undone.") if rev else gettext("The last change is undone."))
    return _redirect_to(request, chat, undone.messages[0].index if undone.messages else undone.chat.message_count)


def _patch(request: HttpRequest, row: Message, **parts: Any) -> PatchResult:
    # An action overwrites one message's state, whatever it is, so it can't conflict with other writes.
    unchecked = Guard(optional=True, writer=writer_of(request))
    return patch_messages(request.user, row.chat_id, [Patch(id=row.pk, **parts)], unchecked)


def _redirect_with_undo(request: HttpRequest, result: PatchResult, index: int, text: str) -> HttpResponse:
    """Redirect to the conversation around an index, with a notification that offers to undo the write."""
    undo = reverse("chats:undo-change", args=[result.chat.pk, result.chat.rev])
    messages.success(request, text, extra_tags=f"undo {undo}" if result.applied else "")
    return _redirect_to(request, result.chat, index)


def _redirect_to(request: HttpRequest, chat: Chat, index: int) -> HttpResponse:
    return redirect_page(request, f"{reverse('chats:detail', args=[chat.pk])}?at={max(0, index)}")


def _render_form(request: HttpRequest, row: Message, form: Any, title: str, note: str, action: str) -> HttpResponse:
    context = {
        "chat": row.chat,
        "message": row,
        "form": form,
        "title": title,
        "note": note,
        "action": reverse(f"chats:{action}", args=[row.chat_id, row.pk]),
    }
    return render(request, "chats/tool_form.html", context, status=400 if form.errors else 200)
