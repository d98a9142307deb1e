"""Pages of model tests: start, watch, cancel and list them."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.views.access import wants_partial
from apps.common import jobs
from apps.common.problems import Problem
from apps.extraction.models import ModelTest
from apps.extraction.suitability.scenarios import trials
from apps.extraction.tasks import request_model_test
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
def index(request: HttpRequest) -> HttpResponse:
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
def detail(request: HttpRequest, test_id: UUID) -> HttpResponse:
    """Show a test. The partial reloads itself while the test is active."""
    test = own_row(request, ModelTest, pk=test_id)
    template = "_test" if wants_partial(request) else "detail"
    return render(request, f"extraction/model_tests/{template}.html", {"test": test})


@login_required
@require_POST
def cancel(request: HttpRequest, test_id: UUID) -> HttpResponse:
    """Cancel a test. Its results so far stay."""
    test = jobs.cancel(own_row(request, ModelTest, pk=test_id))
    if wants_partial(request):
        return render(request, "extraction/model_tests/_test.html", {"test": test})
    return redirect("memory-settings:model-test", test_id=test.pk)
