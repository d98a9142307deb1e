"""List, create, edit and delete generation presets."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from apps.chats.views.access import or_404
from apps.common.pages.forms import refused_into
from apps.replies.forms import PresetForm
from apps.replies.models import GenerationPreset
from apps.replies.presets import access_preset, create_preset, list_presets, update_preset


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
