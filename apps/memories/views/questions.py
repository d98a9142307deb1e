"""Views of the tab of a memory book that asks which of two memories is true now."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from apps.common.problems import Conflict
from apps.memories.models import Question
from apps.memories.operations.questions import reopen, settle
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.queries.questions import still_open
from apps.memories.views.access import own_book, own_row, redirect_back
from apps.memories.views.book import render_tab

PAGE_SIZE = 20
MAX_ANSWERED = 20


@login_required
@require_safe
def questions(request: HttpRequest, **scope: UUID) -> HttpResponse:
    """List the open questions, and those answered last."""
    book = own_book(request, **scope)
    page = Paginator(still_open(book.questions()), PAGE_SIZE).get_page(request.GET.get("page"))
    answered = book.questions().exclude(answer="").order_by("-answered_at")[:MAX_ANSWERED]
    return render_tab(request, book, "questions", page=page, answered=answered)


@login_required
@require_POST
def change_question(request: HttpRequest, question_id: UUID, action: str) -> HttpResponse:
    """Answer a question with ``action``, a value of Question.Answer, or take its answer back with "reopen"."""
    question = own_row(request, Question, pk=question_id)
    tab_url = MemoryBook(question.owner_id, chat=question.chat).url("questions")
    if action == "reopen":
        reopen(question)
        messages.success(request, gettext("The question is open again."))
        return redirect_back(request, tab_url)
    try:
        settle(question, action, editor=str(request.user))
    except Conflict as problem:
        messages.error(request, problem.detail)
    else:
        undo = reverse("memories:question-reopen", args=[question.pk])
        messages.success(request, gettext("Saved."), extra_tags=f"undo {undo}")
    return redirect_back(request, tab_url)
