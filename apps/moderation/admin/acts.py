"""What is done on the page of a case: claim, look, note, decide, undo, and what others do with it meanwhile."""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse as path_of
from django.utils.translation import gettext

from apps.common.problems import Conflict, Problem
from apps.moderation.admin import desk
from apps.moderation.content import content_of
from apps.moderation.forms import DecisionForm
from apps.moderation.models import Case, Look
from apps.moderation.operations.cases import claim, note, release
from apps.moderation.operations.decisions import decide, reverse, undo, uphold
from apps.moderation.operations.looks import look_at_case


class Acts:
    """The views of an admin page of cases that change one, and the one that says what others do with it."""

    admin_site: Any
    has_view_permission: Any
    get_object: Any

    def act(self, request: Any, case_id: UUID, action: str) -> HttpResponse:
        """Do one of the actions of the page of a case; after a decision, show the next case of the queue."""
        if action not in ACTIONS or request.method != "POST":
            raise Http404
        if not self.has_view_permission(request):
            raise PermissionDenied
        filters = request.POST.get("_changelist_filters", "")
        try:
            ACTIONS[action](request, case_id)
        except Problem as problem:
            messages.error(request, message_of(problem))
            return redirect(address_of(case_id, filters))
        if action not in ENDS:
            if action in SAYS:
                messages.success(request, SAYS[action]())
            return redirect(address_of(case_id, filters))
        tags = undo_tags([case_id]) if action == "decide" else ""
        messages.success(request, gettext("Done."), extra_tags=tags)
        following = desk.next_case(self, request, case_id, filters)
        return redirect(address_of(following, filters) if following else _queue(filters))

    def undo_decisions(self, request: Any) -> HttpResponse:
        """Undo decisions that the moderator has just made, and show the first of them."""
        if request.method != "POST":
            raise Http404
        if not self.has_view_permission(request):
            raise PermissionDenied
        done, refusals = [], set()
        for case_id in desk.ids_of(request.GET.getlist("case")):
            try:
                done.append(undo(request.user, case_id).pk)
            except Problem as problem:
                refusals.add(message_of(problem))
        if done:
            messages.success(request, gettext("Undone: %(count)s.") % {"count": len(done)})
        for text in sorted(refusals):
            messages.error(request, text)
        return redirect(address_of(done[0]) if len(done) == 1 else _queue())

    def case_state(self, request: Any, case_id: UUID) -> HttpResponse:
        """Show what others do with a case, and what was decided of it, for a page that is open."""
        case = self.get_object(request, str(case_id))
        if not self.has_view_permission(request, case):
            raise PermissionDenied
        if case is None:
            raise Http404
        seen = request.GET.get("as", "")
        context = desk.others_context(request, case) | {"case": case, "changed": bool(seen) and seen != case.state}
        return TemplateResponse(request, "admin/moderation/_state.html", context)


def address_of(case_id: UUID, filters: str = "") -> str:
    """Return the address of a case's page in the queue with these filters."""
    query = f"?{urlencode({'_changelist_filters': filters})}" if filters else ""
    return f"{path_of('admin:moderation_case_change', args=[case_id])}{query}"


def undo_tags(case_ids: Iterable[UUID]) -> str:
    """Return the tags that make a message offer to undo the decisions of these cases."""
    query = urlencode([("case", str(case_id)) for case_id in case_ids])
    return f"undo {path_of('admin:moderation_undo')}?{query}"


def message_of(problem: Problem) -> str:
    """Return what a moderator is told of a problem."""
    errors = getattr(problem, "errors", None) or []
    return " ".join(error.detail for error in errors) or problem.detail


def _queue(filters: str = "") -> str:
    query = QueryDict(filters).urlencode() if filters else ""
    return f"{path_of('admin:moderation_case_changelist')}{f'?{query}' if query else ''}"


def _decide(request: Any, case_id: UUID) -> Case:
    form = DecisionForm(request.user, request.POST)
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise Problem(f"{form.fields[name].label or name}: {errors[0]}")
    _refuse_changed(request, case_id)
    return decide(request.user, case_id, **form.cleaned_data)


def _refuse_changed(request: HttpRequest, case_id: UUID) -> None:
    """Raise Conflict if the moderator has read a text that is another one by now."""
    seen, look = request.POST.get("seen"), desk.own_look(request, case_id)
    if seen and look is not None and seen != content_of(look).digest:
        raise Conflict(gettext("The text was changed or deleted since you read it. Read it again."))


def _reason(request: HttpRequest) -> str:
    return request.POST.get("reason", "")


ACTIONS: dict[str, Callable[[Any, UUID], Case | Look]] = {
    "claim": lambda request, pk: claim(request.user, pk),
    "release": lambda request, pk: release(request.user, pk),
    "note": lambda request, pk: note(request.user, pk, _reason(request)),
    "look": lambda request, pk: look_at_case(request.user, pk, _reason(request)),
    "reverse": lambda request, pk: reverse(request.user, pk, reason=_reason(request)),
    "uphold": lambda request, pk: uphold(request.user, pk, reason=_reason(request)),
    "undo": lambda request, pk: undo(request.user, pk),
    "decide": _decide,
}
ENDS = ("decide", "reverse", "uphold")  # what ends a case: the next one is shown
SAYS: dict[str, Callable[[], str]] = {
    "claim": lambda: gettext("It is yours."),
    "release": lambda: gettext("It is in the queue again."),
    "note": lambda: gettext("The note is kept."),
    "undo": lambda: gettext("Undone. The case is open again."),
}
