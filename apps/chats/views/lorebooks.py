"""Show and delete lorebooks."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from apps.chats import operations
from apps.chats.views.access import own_lorebook


@login_required
@require_safe
def detail(request: HttpRequest, lorebook_id: UUID) -> HttpResponse:
    return render(request, "chats/lorebooks/detail.html", {"book": own_lorebook(request, lorebook_id)})


@login_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, lorebook_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete the lorebook for good."""
    book = own_lorebook(request, lorebook_id)
    if request.method == "GET":
        return render(request, "chats/lorebooks/delete.html", {"book": book})
    operations.delete_lorebook(book)
    messages.success(request, f"“{book.name}” is deleted.")
    return redirect("characters:detail", book.character_id) if book.character_id else redirect("characters:index")
