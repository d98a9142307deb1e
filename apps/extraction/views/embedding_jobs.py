"""Page and partial of search vectors: the embedding model in use, and the job that recomputes embeddings."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.chats.views.access import wants_partial
from apps.common import jobs
from apps.common.problems import Conflict
from apps.extraction.jobs.embedding_jobs import count_stale, current_model
from apps.extraction.models import EmbeddingJob
from apps.extraction.tasks import request_embedding_job


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the embedding model, the number of texts not yet embedded with it, and the latest job."""
    return _render(request)


@login_required
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """Start a job, unless one is active."""
    try:
        request_embedding_job(request.user)
    except Conflict as problem:
        messages.error(request, problem.detail)
    return _after_change(request)


@login_required
@require_POST
def cancel(request: HttpRequest) -> HttpResponse:
    """Cancel the active job, if any."""
    if job := EmbeddingJob.objects.for_owner(request.user).active().first():
        jobs.cancel(job)
    return _after_change(request)


def _after_change(request: HttpRequest) -> HttpResponse:
    return _render(request) if wants_partial(request) else redirect("memory-settings:vectors")


def _render(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {"job": EmbeddingJob.objects.for_owner(request.user).order_by("-pk").first()}
    try:
        model = current_model(request.user)
    except Conflict as problem:
        context["unavailable"] = problem.detail
    else:
        context |= {"model": model, "waiting": count_stale(request.user, model)}
    template = "_vectors" if wants_partial(request) else "vectors"
    return render(request, f"extraction/settings/{template}.html", context)
