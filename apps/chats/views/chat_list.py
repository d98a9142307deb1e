"""List, create, rename, delete and restore chats."""

from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.authentication import writer_of
from apps.accounts.models import User
from apps.accounts.sign_in.invitations import OPEN
from apps.chats import operations
from apps.chats.forms.chat_list import ChatListForm
from apps.chats.forms.chats import ChatForm
from apps.chats.forms.personas import first_name_form
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations.bin import BIN_PERIOD
from apps.chats.pages.chat_list import chat_entries
from apps.chats.pages.plugins import activities_of
from apps.chats.queries import list_chats, overview_of
from apps.chats.views.access import or_404, own_chat, wants_partial
from apps.common.pages.forms import refused_into

PAGE_SIZE = 40


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the chats, or show the landing page to an anonymous visitor."""
    if not request.user.is_authenticated:
        return render(request, "chats/landing.html", {"is_open": settings.SIGN_UP == OPEN})
    filters = ChatListForm(request.GET).filters()
    page = Paginator(list_chats(request.user, **filters), PAGE_SIZE).get_page(request.GET.get("page"))
    overview = overview_of(request.user)
    context = {
        "page": page,
        "entries": chat_entries(request.user, page),
        "query": filters["words"],
        "tag": filters["tag"],
        "folder": filters["folder"] or "",
        "shows_folders": filters["folder"] == "" and page.number == 1,
        "in_archive": filters["archived"],
        "overview": overview,
        "name_form": first_name_form(request.user, has_personas=overview.has_personas),
    }
    return render(request, "chats/_list.html" if wants_partial(request) else "chats/index.html", context)


@login_required
@require_POST
def end_welcome(request: HttpRequest) -> HttpResponse:
    """Dismiss the welcome for good."""
    user = cast(User, request.user)
    user.welcomed_at = timezone.now()
    user.save(update_fields=["welcomed_at"])
    return redirect("chats:index")


@login_required
@require_http_methods(["GET", "POST"])
def rename(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Change the title, who the user is in the chat, the folder and the tags."""
    chat = own_chat(request, chat_id)
    user = cast(User, request.user)
    form = ChatForm(user, request.POST) if request.method == "POST" else ChatForm.from_chat(user, chat)
    if form.is_bound and form.is_valid():
        place = {name: form.cleaned_data.pop(name) for name in ("folder", "tags")}
        with refused_into(form), transaction.atomic():
            operations.update_chat(chat, guard=Guard(writer=writer_of(request)), **form.cleaned_data)
            operations.organize_chat(chat, **place)
            return redirect("chats:detail", chat_id=chat.pk)
    context = {"chat": chat, "form": form, "folders": overview_of(user).folders}
    return render(request, "chats/rename.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Ask for confirmation, then put the chat into the bin."""
    chat = own_chat(request, chat_id)
    if request.method == "GET":
        return render(request, "chats/delete.html", {"chat": chat, "days": BIN_PERIOD.days})
    operations.delete_chat(chat, keep_memories="keep_memories" in request.POST)
    undo = reverse("chats:restore", args=[chat.pk])
    messages.success(request, gettext("“%(title)s” is deleted.") % {"title": chat.title}, extra_tags=f"undo {undo}")
    return redirect("chats:index")


@login_required
@require_safe
def deleted(request: HttpRequest) -> HttpResponse:
    """List the chats in the bin, latest deleted first."""
    chats = Chat.in_bin.for_owner(request.user).own().select_related("character").order_by("-deleted_at", "-pk")
    page = Paginator(chats, PAGE_SIZE).get_page(request.GET.get("page"))
    for chat in page:
        chat.purged_at = chat.deleted_at + BIN_PERIOD
    return render(request, "chats/deleted.html", {"page": page, "days": BIN_PERIOD.days})


@login_required
@require_POST
def restore(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Take a chat out of the bin."""
    chat = or_404(operations.restore_chat, request.user, chat_id)
    messages.success(request, gettext("“%(title)s” is back.") % {"title": chat.title})
    return redirect("chats:detail", chat_id=chat.pk)


@login_required
@require_http_methods(["GET", "POST"])
def purge(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete a chat in the bin for good."""
    chat = get_object_or_404(Chat.in_bin.for_owner(request.user).select_related("character"), pk=chat_id)
    if request.method == "GET":
        return render(request, "chats/purge.html", {"chat": chat})
    or_404(operations.purge_chat, request.user, chat_id)
    messages.success(request, gettext("“%(title)s” is deleted for good.") % {"title": chat.title})
    return redirect("chats:deleted")


@login_required
@require_safe
def activity(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Render the progress ring of a chat in the list. The ring polls this view while background work is running."""
    chat = own_chat(request, chat_id)
    progress = activities_of(request.user, [chat.pk]).get(chat.pk)
    return render(request, "chats/_ring.html", {"chat": chat, "activity": progress})
