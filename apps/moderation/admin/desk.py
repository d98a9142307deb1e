"""What the moderators' desk shows: the queue, a case with its reports and history, and its text during a look."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, cast
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from apps.accounts.models import User
from apps.moderation.content import Content, content_of, is_there
from apps.moderation.excerpts import excerpt
from apps.moderation.forms import DecisionForm, ReasonForm
from apps.moderation.models import Action, Case, Decision, Flag, Look, Notice, Reason, Report
from apps.moderation.operations.audit import kinds_of
from apps.moderation.operations.decisions import can_be_undone
from apps.moderation.scanning.rules import matchers_named

SHOWN = 20  # entries of the history, other cases, looks


def queue_around(admin: Any, request: HttpRequest, filters: str | None = None) -> Any:
    """Return the queue from which a page was opened, as its address or ``filters`` say."""
    query = request.GET.get("_changelist_filters", "") if filters is None else filters
    asked = copy(request)
    for given in (query, ""):
        asked.GET = QueryDict(given)
        try:
            return admin.get_changelist_instance(asked)
        except (IncorrectLookupParameters, SuspiciousOperation):  # of an address that somebody wrote
            continue
    raise AssertionError("A queue without filters is always there.")


def next_case(admin: Any, request: HttpRequest, case_id: UUID, filters: str) -> UUID | None:
    """Return the case after this one in a queue, from its end the first one, or None if the queue is empty."""
    cases = queue_around(admin, request, filters).queryset.exclude(pk=case_id).order_by("pk")
    following = cases.filter(pk__gt=case_id).first() or cases.first()
    return following.pk if following else None


def ids_of(values: Iterable[str]) -> list[UUID]:
    """Return the ids among values that somebody may have written."""
    ids = []
    for value in values:
        try:
            ids.append(UUID(value))
        except ValueError:
            continue
    return ids


def context(request: HttpRequest, queue: Any, case: Case | None) -> dict[str, Any]:
    """Return what the page of the desk shows."""
    cases = list(queue.result_list)
    page = queue.page_num
    places = [shown.pk for shown in cases]
    at = places.index(case.pk) if case is not None and case.pk in places else -1
    return {
        "title": "",
        "cl": queue,
        "filters": queue.get_query_string().removeprefix("?"),
        "specs": [(spec.title, list(spec.choices(queue))) for spec in queue.filter_specs],
        "cases": cases_with_flags(cases),
        "case": case,
        "can_decide": request.user.has_perm("moderation.decide_case"),
        "is_list": False,
        "before": cases[at - 1] if at > 0 else None,
        "after": next(iter(cases[at + 1 :]), None),
        "page_before": queue.get_query_string({PAGE_VAR: page - 1}) if page > 1 else "",
        "page_after": queue.get_query_string({PAGE_VAR: page + 1}) if page < queue.paginator.num_pages else "",
        **(case_context(request, case) if case is not None else {}),
    }


def cases_with_flags(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return the cases of a list, each with its reasons in words and the rules that flagged it."""
    flags: dict[UUID, list[str]] = defaultdict(list)
    for case_id, source in Flag._base_manager.filter(case__in=cases).order_by("pk").values_list("case", "source"):
        if source not in flags[case_id]:
            flags[case_id].append(source)
    return [{"case": case, "reasons": reasons_of(case), "flags": flags.get(case.pk, [])} for case in cases]


def reasons_of(case: Case) -> list[str]:
    """Return the reasons of a case's reports, in words."""
    return [str(Reason(reason).label) for reason in case.reasons]


def case_context(request: HttpRequest, case: Case) -> dict[str, Any]:
    """Return what the page shows of a case."""
    reports = list(Report._base_manager.filter(case=case).select_related("owner").order_by("pk"))
    flags = list(Flag._base_manager.filter(case=case).order_by("pk"))
    user = cast(User, request.user)
    others = Case._base_manager.filter(owner=case.owner_id, kind__in=kinds_of(user)).exclude(pk=case.pk).order_by("-pk")
    return {
        "reasons": reasons_of(case),
        "reports": reports,
        "lost_reasons": [reason for reason in case.reasons if reason not in {report.reason for report in reports}],
        "flags": flags,
        "notices": Notice._base_manager.filter(case=case).order_by("pk"),
        "history": Action.objects.filter(case_id=case.pk).order_by("-at")[:SHOWN],
        "looks": Look._base_manager.filter(case=case).select_related("moderator").order_by("-pk")[:SHOWN],
        "others": others[:SHOWN],
        "others_count": others.count(),
        "is_own": case.owner_id == user.pk,
        "is_there": is_there(case),
        "can_look": user.has_perm("moderation.look_at_content"),
        "can_reverse": case.decision in (Decision.HIDE, Decision.SUSPEND, Decision.BAN),
        "can_undo": can_be_undone(user, case),
        "decision_form": DecisionForm(user),
        "reason_form": ReasonForm(),
        **others_context(request, case),
        **_text_context(request, case, [flag.source for flag in flags]),
    }


def others_context(request: HttpRequest, case: Case) -> dict[str, Any]:
    """Return what other moderators do with a case."""
    reading = Look._base_manager.filter(case=case, expires_at__gt=timezone.now()).exclude(moderator=request.user.pk)
    claimed_by_another = case.state == Case.State.OPEN and case.assigned_to_id not in (None, request.user.pk)
    return {
        "readers": {look.moderator_id: look for look in reading.select_related("moderator").order_by("pk")}.values(),
        "claimed_by_another": claimed_by_another,
    }


def own_look(request: HttpRequest, case_id: UUID) -> Look | None:
    """Return the look of this moderator at a case that is not over."""
    looks = Look._base_manager.filter(case=case_id, moderator=request.user.pk, expires_at__gt=timezone.now())
    return looks.order_by("-pk").first()


def _text_context(request: HttpRequest, case: Case, rules: Sequence[str]) -> dict[str, Any]:
    look = own_look(request, case.pk) if request.user.has_perm("moderation.look_at_content") else None
    if look is None:
        return {"look": None}
    content = content_of(look)
    left = int((look.expires_at - timezone.now()).total_seconds()) + 1
    return {
        "look": look,
        "seconds_left": left,
        "content": content,
        "parts": _excerpts(content, rules),
        "seen": content.digest,
    }


def _excerpts(content: Content, rules: Sequence[str]) -> list[dict[str, Any]]:
    """Return the parts of a content as they are shown: what rules found is marked, long texts are cut."""
    matchers = matchers_named(rules)
    return [
        {
            "heading": part.heading,
            "is_target": part.is_target,
            "texts": [excerpt(text, matchers if part.is_target else ()) for text in part.texts],
        }
        for part in content.parts
    ]
