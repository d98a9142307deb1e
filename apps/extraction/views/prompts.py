"""The pages of prompt templates: what models are asked by, to be read, tried and replaced."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from apps.common.problems import Invalid
from apps.extraction.prompts.examples import EXAMPLES
from apps.extraction.prompts.overrides import reset_template, set_template, template_of, templates_of
from apps.extraction.prompts.rendering import MAX_TEMPLATE, TASKS, check_template, default_template
from apps.extraction.prompts.rendering import render as fill_in
from apps.extraction.prompts.sheets import placeholders_of


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every task that a model is asked for."""
    own = templates_of(request.user)
    tasks = [(task, task in own) for task in TASKS]
    return render(request, "extraction/prompts/index.html", {"tasks": tasks})


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, task: str) -> HttpResponse:
    """One task's template. ``action``: save it, preview it, or reset to ours, by which nothing typed is lost."""
    if task not in TASKS:
        raise Http404
    own = template_of(request.user, task)
    default = default_template(task).strip()
    context: dict[str, Any] = {"text": own or default, "is_own": own is not None}
    if request.method == "POST":
        action = request.POST.get("action")
        context["text"] = _given(request)
        if action == "preview":
            context |= _preview(task, context["text"])
        elif action == "reset":
            reset_template(request.user, task)
            context |= {"is_own": False, "was_reset": True}
        else:
            try:
                set_template(request.user, task, context["text"])
            except Invalid as problem:
                context["problems"] = [error.detail for error in problem.errors]
            else:
                messages.success(request, "Saved. Your model is asked by it from the next reading on.")
                return redirect("memory-settings:prompt", task=task)
    shown = {"task": task, "default": default}
    notes = {"placeholders": placeholders_of(task)}
    status = 400 if context.get("problems") else 200
    return render(request, "extraction/prompts/edit.html", shown | notes | context, status=status)


def _given(request: HttpRequest) -> str:
    """The text in the editor, no longer than what is shown back safely."""
    return request.POST.get("text", "").replace("\r\n", "\n").replace("\x00", "")[: MAX_TEMPLATE + 1000]


def _preview(task: str, text: str) -> dict[str, Any]:
    """What a model would be sent for example material, or why nothing can be."""
    problems = check_template(task, text)
    return {"problems": problems} if problems else {"preview": fill_in(task, EXAMPLES[task], text)}
