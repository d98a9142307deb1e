"""Pages of model tests, search vectors and prompt templates."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.views.access import wants_partial
from apps.common import jobs
from apps.common.problems import Conflict, Invalid, Problem
from apps.extraction.jobs.embedding_jobs import (
    cancel_embedding_job,
    count_stale,
    current_model,
    latest_embedding_job,
    request_embedding_job,
)
from apps.extraction.models import ModelTest
from apps.extraction.prompts.rendering import (
    MAX_TEMPLATE,
    check_template,
    default_template,
    placeholders,
    reset_template,
    set_template,
    template_of,
    templates_of,
)
from apps.extraction.prompts.rendering import render as render_prompt
from apps.extraction.prompts.task import TASKS
from apps.extraction.suitability.model_tests import request_model_test
from apps.extraction.suitability.scenarios import trials
from apps.llm.models import Connection
from apps.memories.views.access import own_row


class ModelTestForm(forms.Form):
    """The model to test; empty for the built-in extractor."""

    connection = forms.ModelChoiceField(
        Connection.objects.none(), required=False, label=_("Model"), empty_label=_("The built-in extractor")
    )

    def __init__(self, connections: Any, data: Any = None) -> None:
        super().__init__(data, initial={"connection": connections.filter(for_generation=True).first()})
        field = self.fields["connection"]
        field.queryset = connections  # type: ignore[attr-defined]
        field.label_from_instance = lambda connection: f"{connection.model} · {connection.name}"  # type: ignore[attr-defined]


@login_required
@require_http_methods(["GET", "POST"])
def model_tests(request: HttpRequest) -> HttpResponse:
    """List all tests, newest first. A POST starts one for a connection or the built-in extractor."""
    connections = Connection.objects.for_owner(request.user).exclude(model="").order_by("-for_generation", "name")
    form = ModelTestForm(connections, request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            test = request_model_test(request.user, form.cleaned_data["connection"])
        except Problem as problem:
            messages.error(request, problem.detail)
            return redirect("memory-settings:model-tests")
        return redirect("memory-settings:model-test", test_id=test.pk)
    tests = ModelTest.objects.for_owner(request.user).order_by("-pk")
    context: dict[str, Any] = {"form": form, "tests": tests, "questions": len(trials())}
    return render(request, "extraction/model_tests/index.html", context, status=400 if form.errors else 200)


@login_required
@require_safe
def model_test(request: HttpRequest, test_id: UUID) -> HttpResponse:
    """Show a test. The partial reloads itself while the test is active."""
    test = own_row(request, ModelTest, pk=test_id)
    template = "_test" if wants_partial(request) else "detail"
    return render(request, f"extraction/model_tests/{template}.html", {"test": test})


@login_required
@require_POST
def cancel_model_test(request: HttpRequest, test_id: UUID) -> HttpResponse:
    """Cancel a test. Its results so far stay."""
    test = jobs.cancel(own_row(request, ModelTest, pk=test_id))
    if wants_partial(request):
        return render(request, "extraction/model_tests/_test.html", {"test": test})
    return redirect("memory-settings:model-test", test_id=test.pk)


@login_required
@require_safe
def vectors(request: HttpRequest) -> HttpResponse:
    """Show the embedding model, the number of texts not yet embedded with it, and the latest job."""
    return _render_vectors(request)


@login_required
@require_POST
def start_vectors(request: HttpRequest) -> HttpResponse:
    """Start a job, unless one is active."""
    try:
        request_embedding_job(request.user)
    except Conflict as problem:
        messages.error(request, problem.detail)
    return _after_vectors(request)


@login_required
@require_POST
def cancel_vectors(request: HttpRequest) -> HttpResponse:
    """Cancel the active job, if any."""
    cancel_embedding_job(request.user)
    return _after_vectors(request)


def _after_vectors(request: HttpRequest) -> HttpResponse:
    return _render_vectors(request) if wants_partial(request) else redirect("memory-settings:vectors")


def _render_vectors(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {"job": latest_embedding_job(request.user)}
    try:
        model = current_model(request.user)
    except Conflict as problem:
        context["unavailable"] = problem.detail
    else:
        context |= {"model": model, "waiting": count_stale(request.user, model)}
    template = "_vectors" if wants_partial(request) else "vectors"
    return render(request, f"extraction/settings/{template}.html", context)


@login_required
@require_safe
def prompts(request: HttpRequest) -> HttpResponse:
    """List the templates of all tasks."""
    own = templates_of(request.user)
    tasks = [(task, task in own) for task in TASKS]
    return render(request, "extraction/prompts/index.html", {"tasks": tasks})


@login_required
@require_http_methods(["GET", "POST"])
def edit_prompt(request: HttpRequest, task: str) -> HttpResponse:
    """Show the template of a task. A POST saves or previews it, or resets it without losing the text in the editor."""
    if task not in TASKS:
        raise Http404
    own = template_of(request.user, task)
    default = default_template(task).strip()
    context: dict[str, Any] = {"text": own or default, "is_own": own is not None}
    if request.method == "POST":
        action = request.POST.get("action")
        # Truncate only well above the maximum: a slightly too long text must fail validation and be shown again.
        text = request.POST.get("text", "").replace("\r\n", "\n").replace("\x00", "")[: MAX_TEMPLATE + 1000]
        context["text"] = text
        if action == "preview":
            problems = check_template(task, text)
            preview = None if problems else render_prompt(task, TASKS[task].preview_material, text)
            context |= {"problems": problems} if problems else {"preview": preview}
        elif action == "reset":
            reset_template(request.user, task)
            context |= {"is_own": False, "was_reset": True}
        else:
            try:
                set_template(request.user, task, text)
            except Invalid as problem:
                context["problems"] = [error.detail for error in problem.errors]
            else:
                messages.success(request, gettext("Saved. Applies from the next extraction."))
                return redirect("memory-settings:prompt", task=task)
    context |= {"task": task, "default": default, "placeholders": placeholders(task)}
    status = 400 if context.get("problems") else 200
    return render(request, "extraction/prompts/edit.html", context, status=status)
