"""Import uploaded character cards and lorebooks."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from apps.chats.views.access import redirect_page, wants_partial
from apps.common.problems import Problem
from apps.exchange.cards import CardImportResult, import_card
from apps.exchange.views.uploads import received_files, shown_name, tell_failure


@login_required
@require_POST
def import_files(request: HttpRequest) -> HttpResponse:
    """Import each file as a character or a lorebook, or show the reason for the failure.

    Open the result if it is a single file.
    """
    files = received_files(request)
    results = [imported for file in files if (imported := _import(request, file))]
    if not results and wants_partial(request):
        return render(request, "components/toasts.html", status=400)
    if not len(results) == len(files) == 1:
        return redirect_page(request, reverse("characters:index"))
    if results[0].characters:
        return redirect_page(request, reverse("characters:detail", args=[results[0].characters[0].pk]))
    return redirect_page(request, reverse("characters:lorebook", args=[results[0].lorebooks[0].pk]))


def _import(request: HttpRequest, file: UploadedFile) -> CardImportResult | None:
    name = shown_name(file)
    try:
        imported = import_card(request.user, file, filename=name)  # type: ignore[arg-type]
    except Problem as problem:
        tell_failure(request, name, problem)
        return None
    if imported.existed:
        messages.info(
            request, gettext("%(name)s is among your characters already.") % {"name": imported.characters[0].name}
        )
        return imported
    warnings = imported.report["warnings"]
    messages.add_message(request, messages.WARNING if warnings else messages.SUCCESS, _summary(imported))
    return imported


def _summary(imported: CardImportResult) -> str:
    """Return a sentence about what was imported, and the first warnings."""
    entry_counts = [len(book.document["entries"]) for book in imported.lorebooks]
    parts = [character.name for character in imported.characters]
    parts += [
        ngettext("a lorebook of %(count)s entry", "a lorebook of %(count)s entries", count) % {"count": count}
        for count in entry_counts
    ]
    text = ngettext("%(parts)s was imported.", "%(parts)s were imported.", len(parts)) % {
        "parts": gettext(" and ").join(parts)
    }
    return "\n".join([text[:1].upper() + text[1:], *imported.report["warnings"][:3]])
