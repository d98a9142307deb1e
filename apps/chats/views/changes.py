"""List the recent changes of a chat, and show one with what its undo brings back."""

from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from apps.chats.operations import can_undo
from apps.chats.pages.changes import describe_changes
from apps.chats.queries import later_changes, undoable_changes
from apps.chats.views.access import own_chat

PAGE_SIZE = 20
MAX_LATER = 50  # changes of the same messages that the page of a change looks at


@login_required
@require_safe
def index(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    chat = own_chat(request, chat_id)
    page = Paginator(undoable_changes(chat), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "chat": chat,
        "page": page,
        "changes": describe_changes(chat, page),
        "days": settings.CHANGE_LOG_DAYS,
    }
    return render(request, "chats/changes.html", context)


@login_required
@require_safe
def detail(request: HttpRequest, chat_id: UUID, rev: int) -> HttpResponse:
    chat = own_chat(request, chat_id)
    change = get_object_or_404(undoable_changes(chat), rev=rev)
    *later, described = describe_changes(chat, [*later_changes(chat, change)[:MAX_LATER], change])
    context = {
        "chat": chat,
        "described": described,
        "can_undo": can_undo(chat, change),
        "later": next((other for other in later if not other.is_undone), None),
    }
    return render(request, "chats/change.html", context)
