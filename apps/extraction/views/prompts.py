"""Pages of prompt templates: read, preview, replace and reset them."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from apps.common.problems import Invalid
from apps.extraction.prompts.overrides import reset_template, set_template, template_of, templates_of
from apps.extraction.prompts.rendering import MAX_TEMPLATE, check_template, default_template, placeholders
from apps.extraction.prompts.rendering import render as render_prompt
from apps.extraction.prompts.tasks import TASKS


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the templates of all tasks."""
    own = templates_of(request.user)
    tasks = [(task, task in own) for task in TASKS]
    return render(request, "extraction/prompts/index.html", {"tasks": tasks})


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, task: str) -> HttpResponse:
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
