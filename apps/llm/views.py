"""Settings page “Models”: connections, their tests, and usage."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.common.problems import Problem
from apps.llm import operations
from apps.llm.backends.connection_check import check_connection, list_models
from apps.llm.embeddings import installation_model
from apps.llm.forms import ConnectionForm, LimitForm, UseForm
from apps.llm.http.addresses import address_policy
from apps.llm.models import Connection
from apps.llm.presets import PRESETS
from apps.llm.queries import access_connection, chats_naming
from apps.llm.usage.panel import usage_panel


def own_connection(request: HttpRequest, connection_id: UUID) -> Connection:
    """Return the user's connection. Raise Http404 if there is none."""
    try:
        return access_connection(request.user, connection_id)
    except Problem as error:
        raise Http404(error.detail) from error


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Return the template context of the page."""
    connections = list(Connection.objects.for_owner(request.user).order_by("-id"))
    usage = usage_panel(request.user)
    return {
        "connections": connections,
        "generation_connection": next((connection for connection in connections if connection.for_generation), None),
        "embedding_connection": next((connection for connection in connections if connection.for_embeddings), None),
        "local_embedding_model": installation_model(),
        "usage": usage,
        "limit_form": LimitForm(initial={"daily_tokens": usage.own_limit}),
    }


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show connections and usage."""
    return render(request, "llm/index.html", page_context(request))


@login_required
@never_cache
@sensitive_post_parameters("api_key")
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Show the form for a new connection, or create the connection."""
    form = ConnectionForm(request.POST or None)
    if form.is_valid():
        try:
            with transaction.atomic():
                connection = operations.create_connection(request.user, **form.values())
                operations.use_for(connection, **form.purposes())
        except Problem as problem:
            form.add_problem(problem)
        else:
            return after_saving(request, form, connection, gettext("“%(name)s” was added.") % {"name": connection.name})
    return render_form(request, form)


@login_required
@never_cache
@sensitive_post_parameters("api_key")
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    """Show the form of a connection, or save the changes."""
    connection = own_connection(request, connection_id)
    if connection.backend == Connection.Backend.BROWSER:
        return redirect("llm:browser")
    form = ConnectionForm(request.POST or None, connection=connection)
    if form.is_valid():
        try:
            with transaction.atomic():
                operations.update_connection(connection, **form.values())
                operations.use_for(connection, **form.purposes())
        except Problem as problem:
            form.add_problem(problem)
        else:
            return after_saving(request, form, connection, gettext("Saved."))
    return render_form(request, form)


def after_saving(request: HttpRequest, form: ConnectionForm, connection: Connection, text: str) -> HttpResponse:
    """Show the connection, or offer to read old chats again with a model that writes memories from now on."""
    if "generation" in form.purposes():
        messages.success(
            request,
            gettext("%(text)s %(model)s writes your memories and replies from now on.")
            % {"text": text, "model": connection.model},
        )
        return redirect("memory-settings:read-again")
    in_use = connection.for_generation or connection.for_embeddings
    messages.success(
        request, text if in_use else gettext("%(text)s Test it, then choose what it is used for.") % {"text": text}
    )
    return redirect(connection_url(connection))


def connection_url(connection: Connection) -> str:
    """Return the URL of a connection's card on the page."""
    return f"{reverse('llm:index')}#connection-{connection.pk}"


def render_form(request: HttpRequest, form: ConnectionForm, **models: Any) -> HttpResponse:
    """Render the form; ``models`` is the result of ``models_context``."""
    policy = address_policy()
    ids = [form.connection.pk] if form.connection else []
    context = {
        "form": form,
        "presets": PRESETS,
        "private_allowed": policy.private or policy.everything,
        "preset_values": {preset.name: {"note": preset.note, "fields": preset.fields()} for preset in PRESETS},
        "save_url": reverse("llm:edit" if ids else "llm:add", args=ids),
        "models_url": reverse("llm:offered-by" if ids else "llm:offered", args=ids),
    }
    return render(request, "llm/form.html", context | models, status=400 if form.errors else 200)


@login_required
@never_cache
@sensitive_post_parameters("api_key")
@require_POST
def offered(request: HttpRequest, connection_id: UUID | None = None) -> HttpResponse:
    """List the models of the server in the submitted form, without saving the form."""
    connection = own_connection(request, connection_id) if connection_id else None
    form = ConnectionForm(request.POST, connection=connection)
    models = models_context(request, form)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "llm/_offered.html", models)
    form.errors.clear()  # the form may be incomplete until it is saved
    return render_form(request, form, **models)


def models_context(request: HttpRequest, form: ConnectionForm) -> dict[str, Any]:
    """Return template variables: the names of the server's models, or the error."""
    form.is_valid()
    try:
        names = list_models(form.unsaved_connection(request.user))
    except Problem as problem:
        return {"models_error": problem.detail}
    return {"models": names, "models_listed": True}


@login_required
@require_POST
def use(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    """Start or stop using a connection for a purpose."""
    connection = own_connection(request, connection_id)
    form = UseForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("This is not a known purpose. Nothing was changed."))
        return redirect(connection_url(connection))
    try:
        operations.use_for(connection, **form.purposes())
    except Problem as problem:
        messages.error(request, problem.detail)
    return redirect(connection_url(connection))


@login_required
@never_cache
@require_POST
def test(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    """Test a connection and show the result."""
    connection = own_connection(request, connection_id)
    check = check_connection(connection)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "llm/_check.html", {"connection": connection, "check": check})
    return render(request, "llm/index.html", page_context(request) | {"checked": connection, "check": check})


@login_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete a connection."""
    connection = own_connection(request, connection_id)
    if request.method == "GET":
        return render(request, "llm/delete.html", {"connection": connection, "chats": chats_naming(connection)})
    operations.delete_connection(connection)
    messages.success(request, gettext("“%(name)s” was deleted. Your memories are kept.") % {"name": connection.name})
    return redirect("llm:index")


@login_required
@require_POST
def limit(request: HttpRequest) -> HttpResponse:
    """Save the user's own daily limit."""
    form = LimitForm(request.POST)
    if not form.is_valid():
        return render(request, "llm/index.html", page_context(request) | {"limit_form": form}, status=400)
    operations.set_daily_limit(request.user, form.cleaned_data["daily_tokens"])
    messages.success(request, gettext("Saved."))
    return redirect(reverse("llm:index") + "#usage-title")
