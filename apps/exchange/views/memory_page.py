"""The page of a memory book that imports and exports memories."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from apps.common.problems import Problem
from apps.exchange.forms import ImportForm
from apps.exchange.memories.importing import ImportedMemories, import_into
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.views.access import own_book


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def files(request: HttpRequest, **scope: UUID) -> HttpResponse:
    """Show what can be exported, and import a file or a lorebook."""
    book = own_book(request, **scope)
    if request.method != "POST":
        return _page(request, book, ImportForm(owner=book.owner_id))
    form = ImportForm(request.POST, request.FILES, owner=book.owner_id)
    if form.is_valid():
        target = {"chat": book.chat} if book.chat else {"character": book.character}
        try:
            imported = import_into(book.owner_id, form.cleaned_data["source"], **target)
        except Problem as problem:
            form.add_error(None, gettext("%(detail)s Nothing was stored.") % {"detail": problem.detail})
        else:
            messages.success(request, _summary(imported))
            return redirect(book.timeline_url)
    return _page(request, book, form, status=400)


def _page(request: HttpRequest, book: MemoryBook, form: ImportForm, status: int = 200) -> HttpResponse:
    context = {"book": book, "chat": book.chat, "character": book.character, "tab": "files", "form": form}
    return render(request, "exchange/files.html", context, status=status)


def _summary(imported: ImportedMemories) -> str:
    sentences = [imported.summary.capitalize(), *imported.warnings[:3]]
    return "\n".join(sentences)
