"""Import uploaded files, and show the progress of large ones."""

from typing import BinaryIO, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from apps.chats.models import ImportJob
from apps.chats.views.access import or_404, redirect_page, wants_partial
from apps.common import jobs
from apps.common.problems import Problem
from apps.exchange.cards import CardImportResult, import_card
from apps.exchange.chats.import_jobs import access_import_job, create_import_job, import_at_once
from apps.exchange.chats.imports import AlreadyImported, ImportResult, import_chats
from apps.exchange.formats.files import is_archive, is_card
from apps.exchange.formats.parsed import ImportReport
from apps.exchange.samples import samples
from apps.exchange.tasks import request_decided_import, request_import
from apps.exchange.views.uploads import received_files, shown_name, tell_failure

MAX_LISTED_REASONS = 3  # reasons in a notification
MAX_SYNC_BYTES = 2 * 2**20  # imported during the request; larger files are imported in the background
PAGE_SIZE = 30
MAX_LISTED_CHATS = 50  # chats of one import


@login_required
@require_POST
def import_files(request: HttpRequest) -> HttpResponse:
    """Import each file as chats, a character or a lorebook, or show the reason for the failure.

    Open the result if it is a single file.
    """
    files = received_files(request)
    targets = [target for file in files if (target := _import_file(request, file))]
    if not targets and wants_partial(request):
        return render(request, "components/toasts.html", status=400)
    imports = reverse("chats:imports")
    has_jobs = any(target.startswith(imports) for target in targets)
    if "welcome" in request.POST and not has_jobs:
        return redirect_page(request, reverse("chats:index"))  # its last step shows what is remembered
    if len(targets) == len(files) == 1:
        return redirect_page(request, targets[0])
    return redirect_page(request, imports if has_jobs else reverse("chats:index"))


@login_required
@require_POST
def open_sample(request: HttpRequest) -> HttpResponse:
    """Import a sample chat for a new user."""
    sample = next(iter(samples), None)
    if sample is None:
        raise Http404(gettext("There is no sample chat."))
    with sample.path.open("rb") as file:
        result = import_chats(request.user, file, filename=sample.path.name, title=sample.title)
    return redirect("chats:detail", chat_id=result.chats[0].pk)


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the user's imports of chats."""
    rows = ImportJob.objects.for_owner(request.user).order_by("-pk")
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "exchange/imports.html", {"page": page})


@login_required
@require_safe
def detail(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the progress of an import and its report. If it succeeded without remarks, redirect htmx to the chat."""
    job = or_404(access_import_job, request.user, job_id)
    chats = list(job.chats.order_by("pk")[: MAX_LISTED_CHATS + 1])
    has_remarks = job.report.get("skipped_lines") or job.report.get("warnings")
    if wants_partial(request) and job.state == job.State.SUCCEEDED and len(chats) == 1 and not has_remarks:
        return HttpResponseClientRedirect(reverse("chats:detail", args=[chats[0].pk]))
    template = "exchange/_import_job.html" if wants_partial(request) else "exchange/import_job.html"
    context = {"job": job, "chats": chats[:MAX_LISTED_CHATS], "more": max(job.chats.count() - MAX_LISTED_CHATS, 0)}
    return render(request, template, context)


@login_required
@require_POST
def decide(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Go on with a paused import: update the chats that are stored already, or import second copies."""
    job = or_404(access_import_job, request.user, job_id)
    existing = request.POST.get("existing")
    if existing in (ImportJob.Existing.UPDATE, ImportJob.Existing.COPY):
        request_decided_import(job, existing)
    else:
        messages.error(request, gettext("Choose whether to update the chat or to import a second copy."))
    return redirect("chats:import-job", job_id=job_id)


@login_required
@require_POST
def cancel(request: HttpRequest, job_id: UUID) -> HttpResponse:
    jobs.cancel(or_404(access_import_job, request.user, job_id))
    return redirect_page(request, reverse("chats:import-job", args=[job_id]))


def _import_file(request: HttpRequest, upload: UploadedFile) -> str | None:
    """Import a file. Return the URL of the result, or None if it failed, after adding an error message."""
    name = shown_name(upload)
    file = cast(BinaryIO, upload)
    try:
        if is_card(file):
            return _show_imported_card(request, import_card(request.user, file, filename=name))
        if (upload.size or 0) > MAX_SYNC_BYTES or is_archive(file):
            job = request_import(request.user, upload, existing=ImportJob.Existing.ASK)
            return reverse("chats:import-job", args=[job.pk])
        return _show_imported_chats(request, *import_at_once(request.user, upload))
    except AlreadyImported as found:
        job = create_import_job(request.user, upload, existing=ImportJob.Existing.ASK, matches=found.matches)
        return reverse("chats:import-job", args=[job.pk])
    except Problem as problem:
        target = _import_card(request, file, name)
        if target is None:
            tell_failure(request, name, problem)
        return target


def _import_card(request: HttpRequest, file: BinaryIO, name: str) -> str | None:
    """Import a card that ``is_card`` doesn't recognise, such as one in YAML. Return its URL, or None."""
    try:
        return _show_imported_card(request, import_card(request.user, file, filename=name))
    except Problem:
        return None


def _show_imported_chats(request: HttpRequest, job: ImportJob, result: ImportResult) -> str:
    level = messages.WARNING if result.report.skipped else messages.SUCCESS
    link = f"link {reverse('chats:import-job', args=[job.pk])}"
    messages.add_message(request, level, report_text(result.report), extra_tags=link)
    is_single = len(result.chats) == 1
    return reverse("chats:detail", args=[result.chats[0].pk]) if is_single else reverse("chats:index")


def _show_imported_card(request: HttpRequest, imported: CardImportResult) -> str:
    if imported.characters:
        character = imported.characters[0]
        outcome = (
            gettext("%(name)s is among your characters already.")
            if imported.existed
            else gettext("%(name)s was added to your characters.")
        )
        messages.success(request, outcome % {"name": character.name})
        return reverse("characters:detail", args=[character.pk])
    messages.success(request, gettext("The lorebook “%(name)s” is imported.") % {"name": imported.lorebooks[0].name})
    return reverse("characters:index")


def report_text(report: ImportReport) -> str:
    """Return a report as text: the number of messages, and the skipped lines with reasons."""
    text = ngettext("%(count)s message imported.", "%(count)s messages imported.", report.messages) % {
        "count": report.messages
    }
    if report.skipped:
        reasons = [
            gettext("line %(line)s: %(reason)s") % {"line": item["line"], "reason": item["reason"]}
            for item in report.skipped_lines[:MAX_LISTED_REASONS]
        ]
        more = ["…"] if report.skipped > MAX_LISTED_REASONS else []
        lines = "\n".join([*reasons, *more])
        skipped = ngettext("%(count)s line skipped:", "%(count)s lines skipped:", report.skipped)
        text += f" {skipped % {'count': report.skipped}}\n{lines}"
    return "\n".join([text, *report.warnings[:MAX_LISTED_REASONS]])
