"""Takes in chat files that were dropped on a page or chosen by hand."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from apps.chats.formats.parsed import Report
from apps.chats.imports import ImportResult, import_chat
from apps.chats.samples import first_sample
from apps.chats.views.access import wants_partial
from apps.common.problems import Problem

LISTED = 3  # reasons in a message; more would not be read


@login_required
@require_POST
def import_files(request: HttpRequest) -> HttpResponse:
    """Each file becomes a chat, or a message that says why not. A single one is opened at once."""
    files = request.FILES.getlist("file")
    if not files:
        messages.error(request, "No file came with that. Choose one, or drop it on the page.")
    chats = [chat for file in files if (result := _import(request, file)) for chat in result.chats]
    if not chats and wants_partial(request):
        return render(request, "components/toasts.html", status=400)
    alone = len(chats) == len(files) == 1
    target = reverse("chats:detail", args=[chats[0].pk]) if alone else reverse("chats:index")
    return HttpResponseClientRedirect(target) if wants_partial(request) else redirect(target)


@login_required
@require_POST
def open_sample(request: HttpRequest) -> HttpResponse:
    """A story of one's own to look around in."""
    sample = first_sample()
    if sample is None:
        raise Http404("There is no story to open.")
    with sample.path.open("rb") as file:
        result = import_chat(request.user, file, filename=sample.path.name, title=sample.title)
    return redirect("chats:detail", chat_id=result.chats[0].pk)


def _import(request: HttpRequest, file: UploadedFile) -> ImportResult | None:
    name = (file.name or "The file")[-80:]
    try:
        result = import_chat(request.user, file, filename=name)  # type: ignore[arg-type]
    except Problem as problem:
        messages.error(request, f"{name} was not imported. {problem.detail} Nothing of it was stored.")
        return None
    messages.add_message(request, messages.WARNING if result.report.skipped else messages.SUCCESS, told(result.report))
    return result


def told(report: Report) -> str:
    """A report in words: how many messages came, how many lines did not, and why."""
    text = f"{report.messages} message{pluralize(report.messages)} imported."
    if report.skipped:
        reasons = [f"line {item['line']}: {item['reason']}" for item in report.skipped_lines[:LISTED]]
        more = ["…"] if report.skipped > LISTED else []
        lines = "\n".join([*reasons, *more])
        text += f" {report.skipped} line{pluralize(report.skipped)} skipped:\n{lines}"
    return "\n".join([text, *report.warnings[:LISTED]])
