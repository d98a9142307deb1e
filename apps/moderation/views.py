"""Pages for users: reports, decisions and answers, looks of moderators."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.accounts.suspension import is_suspended
from apps.chats.views.access import or_404
from apps.common.problems import Invalid, Problem
from apps.moderation.forms import AnswerForm, ReportForm
from apps.moderation.models import Kind, Notice
from apps.moderation.operations.notices import answer as answer_notice
from apps.moderation.operations.reports import report
from apps.moderation.queries import access_notice, looks_of, notices_of, reports_of
from apps.moderation.targets import Target, find_target

SHOWN = 100  # rows of each list


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show what was decided, what the user has reported, and what moderators have looked at."""
    user = cast(User, request.user)
    context = {
        "notices": notices_of(user)[:SHOWN],
        "reports": reports_of(user)[:SHOWN],
        "looks": looks_of(user)[:SHOWN],
        "max_answer": Notice.MAX_ANSWER,
        "suspended": is_suspended(user),
    }
    return render(request, "moderation/index.html", context)


@login_required
@require_POST
def answer(request: HttpRequest, notice_id: UUID) -> HttpResponse:
    """Store the answer to a decision."""
    notice = or_404(access_notice, request.user, notice_id)
    form = AnswerForm(request.POST)
    if not form.is_valid():
        raise Invalid(gettext("Your answer: %(value)s") % {"value": form.errors["text"][0]})
    try:
        answer_notice(cast(User, request.user), notice.pk, form.cleaned_data["text"])
    except Problem as problem:
        messages.error(request, problem.detail)
    else:
        messages.success(request, gettext("Your answer was sent. A moderator will read it."))
    return redirect("moderation:index")


@login_required
@require_http_methods(["GET", "POST"])
def report_message(request: HttpRequest, chat_id: UUID, message_id: UUID) -> HttpResponse:
    """Report a message."""
    target = found_target(request, Kind.MESSAGE, message_id, chat_id)
    return _report(request, target, reverse("chats:detail", args=[chat_id]))


@login_required
@require_http_methods(["GET", "POST"])
def report_character(request: HttpRequest, character_id: UUID) -> HttpResponse:
    """Report a character."""
    target = found_target(request, Kind.CHARACTER, character_id)
    return _report(request, target, reverse("characters:detail", args=[character_id]))


@login_required
@require_http_methods(["GET", "POST"])
def report_memory(request: HttpRequest, memory_id: UUID) -> HttpResponse:
    """Report a memory that programs share."""
    target = found_target(request, Kind.MEMORY, memory_id)
    return _report(request, target, reverse("moderation:index"))


def found_target(request: HttpRequest, kind: str, target_id: UUID, chat_id: UUID | None = None) -> Target:
    """Return a thing of the user. Raise Http404."""
    target = or_404(find_target, request.user, kind, target_id)
    if chat_id is not None and target.chat_id != chat_id:
        raise Http404
    return target


def _report(request: HttpRequest, target: Target, back: str) -> HttpResponse:
    form = ReportForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            report(cast(User, request.user), target, **form.cleaned_data)
        except Problem as problem:
            messages.info(request, problem.detail)
        else:
            messages.success(
                request, gettext("Thank you. A moderator will look at it, and you will be told what was decided.")
            )
        return redirect(back)
    context = {"form": form, "kind": Kind(target.kind).label.lower(), "back": back}
    return render(request, "moderation/report.html", context, status=400 if form.errors else 200)
