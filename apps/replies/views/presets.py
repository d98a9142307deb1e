"""List, create, import, edit and delete generation presets."""

from pathlib import PurePath
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from rest_framework.exceptions import APIException

from apps.chats.views.access import or_404
from apps.common.api.json_formats import parse_document
from apps.common.pages.forms import refused_into
from apps.common.problems import Problem
from apps.exchange.views.uploads import received_files, shown_name
from apps.replies.forms import PresetForm
from apps.replies.models import GenerationPreset
from apps.replies.presets import access_preset, create_preset, list_presets, update_preset
from apps.replies.sillytavern_presets import ReadPreset, read_preset

MAX_FILES = 20  # of one import
MAX_FILE_BYTES = 1024 * 1024


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "replies/presets/index.html", {"presets": list_presets(request.user)})


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    form = PresetForm(request.POST) if request.method == "POST" else PresetForm.from_preset(GenerationPreset())
    if form.is_valid():
        with refused_into(form):
            create_preset(request.user, **form.cleaned_data)
            return redirect("replies:presets")
    return render(request, "replies/presets/new.html", {"form": form}, status=400 if form.errors else 200)


@login_required
@require_POST
def import_files(request: HttpRequest) -> HttpResponse:
    """Import presets of SillyTavern, one a file, and show of each what was taken and what was not."""
    files = received_files(request)
    if not files:
        return redirect("replies:presets")
    results = [_import(request, file) for file in files[:MAX_FILES]]
    context = {"results": results, "more": max(len(files) - MAX_FILES, 0), "limit": MAX_FILES}
    status = 200 if any(preset for _, preset, _, _ in results) else 400
    return render(request, "replies/presets/imported.html", context, status=status)


def _import(request: HttpRequest, file: UploadedFile) -> tuple[str, GenerationPreset | None, ReadPreset | None, str]:
    """Return the name of a file with the preset made of it and what was read, or with the reason for the failure."""
    name = shown_name(file)
    if (file.size or 0) > MAX_FILE_BYTES:
        return name, None, None, gettext("The file is too large for a preset.")
    try:
        found = read_preset(PurePath(name).stem, parse_document(file.read(), repairs=True))
        return name, create_preset(request.user, **found.fields), found, ""
    except Problem as problem:
        return name, None, None, problem.detail
    except APIException as error:
        return name, None, None, str(error.detail)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, preset_id: UUID) -> HttpResponse:
    preset = or_404(access_preset, request.user, preset_id)
    form = PresetForm(request.POST) if request.method == "POST" else PresetForm.from_preset(preset)
    if form.is_valid():
        with refused_into(form):
            or_404(lambda: update_preset(preset, **form.cleaned_data))
            messages.success(request, gettext("Saved. Applies from the next reply."))
            return redirect("replies:presets")
    context = {"preset": preset, "form": form}
    return render(request, "replies/presets/edit.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, preset_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete a preset."""
    preset = or_404(access_preset, request.user, preset_id)
    if request.method == "GET":
        return render(request, "replies/presets/delete.html", {"preset": preset})
    preset.delete()
    messages.success(request, gettext("“%(name)s” is deleted.") % {"name": preset.name})
    return redirect("replies:presets")
