"""How far vectors are made anew: a part of the models' page, and a page of its own."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.common.problems import Conflict
from apps.extraction import jobs
from apps.extraction.embedding_jobs import current_model, waiting
from apps.extraction.models import EmbeddingJob
from apps.extraction.tasks import request_reembedding
from apps.memories.views.access import wants_partial


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Which model makes the vectors, and what it has still to do."""
    return _shown(request)


@login_required
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    try:
        request_reembedding(request.user)
    except Conflict as problem:
        messages.error(request, problem.detail)
    return _changed(request)


@login_required
@require_POST
def cancel(request: HttpRequest) -> HttpResponse:
    if job := jobs.active_job(EmbeddingJob, request.user):
        jobs.cancel_job(job)
    return _changed(request)


def _changed(request: HttpRequest) -> HttpResponse:
    return _shown(request) if wants_partial(request) else redirect("memory-settings:vectors")


def _shown(request: HttpRequest) -> HttpResponse:
    template = "extraction/settings/_vectors.html" if wants_partial(request) else "extraction/settings/vectors.html"
    return render(request, template, _standing(request.user))


def _standing(owner: Any) -> dict[str, Any]:
    job = jobs.latest_job(EmbeddingJob, owner)
    try:
        model = current_model(owner)
    except Conflict as problem:
        return {"job": job, "unavailable": problem.detail}
    return {"job": job, "model": model, "waiting": waiting(owner, model)}
