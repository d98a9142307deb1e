"""List, create, edit, delete and restore personas."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats import operations
from apps.chats.forms.personas import NameForm, PersonaForm
from apps.chats.models import Persona
from apps.chats.queries import access_persona, list_personas
from apps.chats.views.access import or_404
from apps.common.pages.forms import refused_into


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "chats/personas/index.html", {"personas": list_personas(request.user)})


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    form = PersonaForm(request.POST, request.FILES) if request.method == "POST" else PersonaForm()
    if form.is_bound and form.is_valid():
        with refused_into(form), transaction.atomic():
            persona = operations.create_persona(request.user, **form.persona_fields())
            _set_avatar(persona, form)
            return redirect("personas:index")
    return render(request, "chats/personas/new.html", {"form": form}, status=400 if form.errors else 200)


@login_required
@require_POST
def introduce(request: HttpRequest) -> HttpResponse:
    """Create the first persona of a new user, who is asked for a name alone."""
    form = NameForm(request.POST)
    if not form.is_valid():
        filled = PersonaForm(request.POST)
        return render(request, "chats/personas/new.html", {"form": filled}, status=400)
    persona = operations.introduce(request.user, form.cleaned_data["name"])
    messages.success(request, gettext("You are %(name)s in new chats.") % {"name": persona.name})
    return redirect("chats:index")


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, persona_id: UUID) -> HttpResponse:
    persona = or_404(access_persona, request.user, persona_id)
    form = PersonaForm(persona=persona)
    if request.method == "POST":
        form = PersonaForm(request.POST, request.FILES, persona=persona)
    if form.is_bound and form.is_valid():
        with refused_into(form), transaction.atomic():
            operations.update_persona(persona, **form.persona_fields())
            _set_avatar(persona, form)
            return redirect("personas:index")
    context = {"persona": persona, "form": form}
    return render(request, "chats/personas/edit.html", context, status=400 if form.errors else 200)


def _set_avatar(persona: Persona, form: PersonaForm) -> None:
    if form.cleaned_data["avatar"]:
        operations.set_persona_avatar(persona, form.cleaned_data["avatar"])
    elif form.cleaned_data.get("remove_avatar"):
        operations.delete_persona_avatar(persona)


@login_required
@require_POST
def delete(request: HttpRequest, persona_id: UUID) -> HttpResponse:
    """Delete a persona without confirmation, and offer to undo it."""
    persona = or_404(access_persona, request.user, persona_id)
    or_404(operations.delete_persona, persona)
    undo = reverse("personas:restore", args=[persona.pk])
    messages.success(
        request,
        gettext("%(name)s is deleted. Chats keep the name.") % {"name": persona.name},
        extra_tags=f"undo {undo}",
    )
    return redirect("personas:index")


@login_required
@require_POST
def restore(request: HttpRequest, persona_id: UUID) -> HttpResponse:
    """Take back the deletion of a persona."""
    persona = or_404(operations.restore_persona, request.user, persona_id)
    messages.success(request, gettext("%(name)s is back.") % {"name": persona.name})
    return redirect("personas:index")
