"""Show and delete lorebooks."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from apps.chats import operations
from apps.chats.forms.lorebooks import LorebookUseForm
from apps.chats.views.access import own_lorebook
from apps.common.pages.forms import refused_into


@login_required
@require_http_methods(["GET", "POST"])
def detail(request: HttpRequest, lorebook_id: UUID) -> HttpResponse:
    """Show a lorebook, or bind it to a persona and a chat."""
    book = own_lorebook(request, lorebook_id)
    form = LorebookUseForm(request.POST if request.method == "POST" else None, book=book)
    if form.is_bound and form.is_valid():
        with refused_into(form):
            operations.update_lorebook(book, **form.cleaned_data)
            messages.success(request, gettext("Saved."))
            return redirect("characters:lorebook", book.pk)
    context = {"book": book, "form": form}
    return render(request, "chats/lorebooks/detail.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, lorebook_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete the lorebook for good."""
    book = own_lorebook(request, lorebook_id)
    if request.method == "GET":
        return render(request, "chats/lorebooks/delete.html", {"book": book})
    operations.delete_lorebook(book)
    messages.success(request, gettext("“%(name)s” is deleted.") % {"name": book.name})
    return redirect("characters:detail", book.character_id) if book.character_id else redirect("characters:index")
