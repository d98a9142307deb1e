"""Progress of recomputed embeddings: a part of the models' page, and a page of its own."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from apps.chats.views.access import wants_partial
from apps.common import jobs
from apps.common.problems import Conflict
from apps.common.scoping import Owner
from apps.extraction.embedding_jobs import count_stale, current_model
from apps.extraction.models import EmbeddingJob
from apps.extraction.tasks import request_reembedding


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the embedding model, and how many rows it has still to embed."""
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
    if job := EmbeddingJob.objects.for_owner(request.user).active().first():
        jobs.cancel(job)
    return _changed(request)


def _changed(request: HttpRequest) -> HttpResponse:
    return _shown(request) if wants_partial(request) else redirect("memory-settings:vectors")


def _shown(request: HttpRequest) -> HttpResponse:
    template = "extraction/settings/_vectors.html" if wants_partial(request) else "extraction/settings/vectors.html"
    return render(request, template, _context(request.user))


def _context(owner: Owner) -> dict[str, Any]:
    job = EmbeddingJob.objects.for_owner(owner).order_by("-pk").first()
    try:
        model = current_model(owner)
    except Conflict as problem:
        return {"job": job, "unavailable": problem.detail}
    return {"job": job, "model": model, "waiting": count_stale(owner, model)}
