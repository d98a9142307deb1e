"""Pages of snapshots: make, download, upload, restore and delete them."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext, ngettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Chat
from apps.chats.queries import access_chat
from apps.chats.views.access import or_404, wants_partial
from apps.common.problems import Conflict, Missing, Problem
from apps.snapshots.downloads import download
from apps.snapshots.models import Restore, Snapshot
from apps.snapshots.operations import access_snapshot, delete_snapshot, receive_snapshot, take_chat_snapshot
from apps.snapshots.tasks import request_restore, request_snapshot

PAGE_SIZE = 20
COUNTED = {
    "chats.Chat": ngettext_lazy("%(count)s chat", "%(count)s chats", "count"),
    "chats.Message": ngettext_lazy("%(count)s message", "%(count)s messages", "count"),
    "chats.Character": ngettext_lazy("%(count)s character", "%(count)s characters", "count"),
    "memories.Memory": ngettext_lazy("%(count)s memory", "%(count)s memories", "count"),
    "memories.JournalEntry": ngettext_lazy("%(count)s journal entry", "%(count)s journal entries", "count"),
    "sync.Setting": ngettext_lazy("%(count)s setting of a program", "%(count)s settings of programs", "count"),
}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List the snapshots of the user, or of the chat in the query. A POST makes one."""
    chat = _chat(request)
    if request.method == "POST":
        try:
            take_chat_snapshot(request.user, chat) if chat else request_snapshot(request.user)
        except Conflict as problem:
            messages.error(request, problem.detail)
        return redirect(request.get_full_path())
    rows = Snapshot.objects.for_owner(request.user)
    rows = rows.filter(chat_id=chat.pk) if chat else rows
    restores = Restore.objects.for_owner(request.user).select_related("snapshot", "safety")
    context = {
        "chat": chat,
        "page": Paginator(rows.order_by("-pk"), PAGE_SIZE).get_page(request.GET.get("page")),
        "restore": restores.order_by("-pk").first(),
        "is_active": rows.active().exists() or restores.active().exists(),
        "kept_days": settings.SNAPSHOTS_DAILY,
    }
    template = "snapshots/_list.html" if wants_partial(request) else "snapshots/index.html"
    return render(request, template, context)


@login_required
@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """Store a snapshot that was downloaded, and ask whether to restore it."""
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, gettext("No file was received. Choose one."))
        return redirect("snapshots:index")
    try:
        snapshot = receive_snapshot(request.user, file)
    except Problem as problem:
        messages.error(
            request, gettext("%(name)s was not stored. %(detail)s") % {"name": file.name, "detail": problem.detail}
        )
        return redirect("snapshots:index")
    return redirect("snapshots:restore", snapshot_id=snapshot.pk)


@login_required
@require_safe
def download_snapshot(request: HttpRequest, snapshot_id: UUID) -> HttpResponseBase:
    """Send the archive."""
    snapshot = or_404(access_snapshot, request.user, snapshot_id)
    try:
        return download(snapshot)
    except (Conflict, Missing) as problem:
        raise Http404(problem.detail) from problem


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """Ask whether to restore a snapshot, and say what it replaces. A POST does it."""
    snapshot = or_404(access_snapshot, request.user, snapshot_id)
    if request.method != "POST":
        return render(
            request,
            "snapshots/restore.html",
            {"snapshot": snapshot, "exists": _exists(snapshot), "contents": contents_of(snapshot)},
        )
    try:
        request_restore(snapshot)
    except Conflict as problem:
        messages.error(request, problem.detail)
    return redirect("snapshots:index")


@login_required
@require_POST
def delete(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """Delete a snapshot."""
    try:
        delete_snapshot(or_404(access_snapshot, request.user, snapshot_id))
    except Conflict as problem:
        messages.error(request, problem.detail)
    return redirect("snapshots:index")


def _chat(request: HttpRequest) -> Chat | None:
    """Return the chat that the query names. Raise Http404."""
    if not (name := request.GET.get("chat")):
        return None
    try:
        return or_404(access_chat, request.user, UUID(name))
    except ValueError as error:
        raise Http404(gettext("There is no such chat.")) from error


def contents_of(snapshot: Snapshot) -> list[str]:
    """Return the numbers of what a user knows in a snapshot, in words."""
    counts = [(snapshot.counts.get(table, 0), words) for table, words in COUNTED.items()]
    return [words % {"count": count} for count, words in counts if count]


def _exists(snapshot: Snapshot) -> bool:
    """Return whether there is something that the snapshot replaces."""
    if snapshot.chat_id is None:
        return True
    return Chat._base_manager.filter(owner_id=snapshot.owner_id, pk=snapshot.chat_id).exists()
