"""Pages of runs: progress of a chat's latest run, its runs, one run with the replies of the model, and old chats."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.chats.models import Chat
from apps.chats.views.access import own_chat, wants_partial
from apps.common import jobs
from apps.common.scoping import Owner
from apps.extraction.models import ExtractionRun
from apps.extraction.runs.estimates import sum_of_estimates
from apps.extraction.runs.operations import dismiss, request_run, resume_run, skip_messages
from apps.extraction.runs.queries import expected_cost, latest_run, runs_of
from apps.llm.backends.selection import backend_for
from apps.llm.queries import generation_connection
from apps.memories.models import ChatMemory
from apps.memories.views.access import own_book, redirect_back
from apps.memories.views.book import render_tab

RUNS_PER_PAGE = 30
ROWS_PER_PAGE = 50  # steps and calls on the page of a run


def own_run(request: HttpRequest, run_id: UUID) -> ExtractionRun:
    """Return a run of the user. Raise Http404."""
    return get_object_or_404(runs_of(request.user).select_related("chat__character", "first", "last"), pk=run_id)


@login_required
@require_safe
def progress(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Show the latest run of a chat. The partial reloads itself while the run is active."""
    return _render_progress(request, own_chat(request, chat_id), was_active="was_active" in request.GET)


def _render_progress(request: HttpRequest, chat: Chat, *, was_active: bool = False) -> HttpResponse:
    run = latest_run(request.user, chat)
    template = "extraction/_under_way.html" if request.GET.get("in") == "book" else "extraction/_progress.html"
    response = render(request, template, {"chat": chat, "run": run, "latest": run, "was_active": was_active})
    if was_active and run and not run.is_active:
        response["HX-Trigger"] = "remembered"  # makes the sidebar reload itself
    return response


@login_required
@require_POST
def extract(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """Start a run over the new messages, with ``refused`` also over refused ones, or resume the paused run."""
    chat = own_chat(request, chat_id)
    run, created = request_run(request.user, chat, asked=True, refused="refused" in request.POST)
    if run.state == ExtractionRun.State.PAUSED and not (created or run.extended):
        resume_run(run, asked=True)
    return _after_change(request, chat)


@login_required
@require_POST
def change(request: HttpRequest, run_id: UUID, action: str) -> HttpResponse:
    """Pause, resume, cancel or skip a run, or close the message about its failure."""
    run = own_run(request, run_id)
    actions: dict[str, Callable[[ExtractionRun], ExtractionRun]]
    actions = {
        "pause": jobs.pause,
        "resume": partial(resume_run, asked=True),
        "cancel": jobs.cancel,
        "skip": skip_messages,
        "dismiss": dismiss,
    }
    actions[action](run)
    return _after_change(request, run.chat)


def _after_change(request: HttpRequest, chat: Chat) -> HttpResponse:
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect_back(request, reverse("chats:detail", args=[chat.pk]))
    return _render_progress(request, chat, was_active=True)


@login_required
@require_safe
def runs(request: HttpRequest, chat_id: UUID) -> HttpResponse:
    """List the runs of a chat, newest first."""
    book = own_book(request, chat_id=chat_id)
    rows = ExtractionRun.objects.for_owner(request.user).filter(chat=book.subject)
    rows = rows.select_related("first", "last").order_by("-pk")
    return render_tab(request, book, "runs", page=Paginator(rows, RUNS_PER_PAGE).get_page(request.GET.get("page")))


@login_required
@require_safe
def run_page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show a run with the results of its steps and the raw replies of the model."""
    run = own_run(request, run_id)
    steps = run.steps.select_related("first", "last", "character").order_by("-pk")
    calls = run.calls.order_by("-pk")
    context = {
        "run": run,
        "chat": run.chat,
        "tab": "runs",
        "steps": Paginator(steps, ROWS_PER_PAGE).get_page(request.GET.get("steps")),
        "calls": Paginator(calls, ROWS_PER_PAGE).get_page(request.GET.get("calls")),
    }
    template = "extraction/_run.html" if wants_partial(request) else "extraction/run.html"
    return render(request, template, context)


@login_required
@require_POST
def start_tier(request: HttpRequest, chat_id: UUID, tier: str) -> HttpResponse:
    """Start a run of the profiles, the canon or the continuity check alone."""
    run, created = request_run(request.user, own_chat(request, chat_id), asked=True, tiers=[tier])
    text = (
        gettext("Started. Reload this page in a moment.")
        if created or run.extended
        else gettext("Another run is active. Wait until it has ended.")
    )
    messages.success(request, text)
    return redirect("memories:book-story", chat_id=chat_id)


CHATS_PER_PAGE = 20


class RereadForm(forms.Form):
    """Chats of one owner that are read again."""

    chat = forms.ModelMultipleChoiceField(
        Chat.objects.none(), error_messages={"required": _("Choose at least one chat. Nothing was started.")}
    )

    def __init__(self, chats: QuerySet[Chat], data: object) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.fields["chat"].queryset = chats  # type: ignore[attr-defined]


def readable_chats(owner: Owner) -> QuerySet[Chat]:
    """Return the owner's chats from which memories may be made, the latest active first."""
    chats: QuerySet[Chat] = Chat.objects.for_owner(owner).own().filter(message_count__gt=1)
    chats = chats.exclude(memory__mode=ChatMemory.Mode.READ_ONLY)
    return chats.select_related("character").order_by("-last_active", "-pk")


@login_required
@require_http_methods(["GET", "POST"])
def read_again(request: HttpRequest) -> HttpResponse:
    """Show what reading old chats again will take, or start a run for each chosen chat."""
    chats = readable_chats(request.user)
    form = RereadForm(chats, request.POST if request.method == "POST" else None)
    if form.is_valid():
        runs = [request_run(request.user, chat, from_index=0, agreed=True) for chat in form.cleaned_data["chat"]]
        started = [created or run.extended for run, created in runs]
        messages.success(request, started_message(sum(started), len(started) - sum(started)))
        return redirect("chats:index")
    only = RereadForm(chats, request.GET)
    if only.is_valid():
        chats = only.cleaned_data["chat"]
    page = Paginator(chats, CHATS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [(chat, expected_cost(chat, again=True)) for chat in page]
    context = {
        "form": form,
        "page": page,
        "rows": rows,
        "total": sum_of_estimates(expected for _, expected in rows),
        "backend": backend_for(request.user),
        "connection": generation_connection(request.user),
    }
    return render(request, "extraction/settings/read_again.html", context, status=400 if form.errors else 200)


def started_message(started: int, active: int) -> str:
    """Return the message about how many runs were started, and how many chats had an open one."""
    text = ngettext(
        "%(started)s chat is read again. The list of chats shows the progress.",
        "%(started)s chats are read again. The list of chats shows the progress.",
        started,
    ) % {"started": started}
    return (
        gettext("%(text)s %(active)s had a run that has not ended, which goes on.") % {"text": text, "active": active}
        if active
        else text
    )
