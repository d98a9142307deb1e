"""Admin pages of cases: the queue with its bulk actions, and the page of a case."""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.forms import CharField
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.common.admin import OwnedAdmin
from apps.common.problems import Problem
from apps.common.stored_texts import translated
from apps.moderation.admin.dashboard import dashboard
from apps.moderation.forms import DecisionForm, ReasonForm
from apps.moderation.models import Action, Case, Decision, Flag, Look, Notice, Report
from apps.moderation.operations.cases import claim, note, release
from apps.moderation.operations.decisions import decide, reverse, uphold
from apps.moderation.operations.looks import look_at_case


class ReasonActionForm(ActionForm):
    """The select of bulk actions, with the reason that decisions need."""

    reason = CharField(required=False, max_length=2000, label=_("Reason:"))


class QueueFilter(admin.SimpleListFilter):
    """What there is to do. Without a choice: open cases, and answers that wait."""

    title = _("what to do")
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices besides the default."""
        return [
            ("mine", gettext("Claimed by me")),
            ("unclaimed", gettext("Unclaimed")),
            ("answered", gettext("Answered")),
            ("all", gettext("All cases")),
        ]

    def choices(self, changelist: Any) -> Any:
        """Yield the choices, the default as the first."""
        for number, choice in enumerate(super().choices(changelist)):
            yield choice | {"display": gettext("To do")} if number == 0 else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        """Return the cases of the choice."""
        to_do = Q(state=Case.State.OPEN) | Q(is_answered=True)
        return queryset.filter(
            {
                "mine": to_do & Q(assigned_to=request.user.pk),
                "unclaimed": Q(state=Case.State.OPEN, assigned_to=None),
                "answered": Q(is_answered=True),
                "all": Q(),
            }.get(self.value() or "", to_do)
        )


@admin.register(Case)
class CaseAdmin(OwnedAdmin):
    """Admin page of the queue. Nothing that users wrote is shown without a look."""

    list_display = ("created_at", "kind", "owner", "why", "state", "decision", "assigned_to", "is_answered")
    list_select_related = ("owner", "assigned_to")
    list_filter = (QueueFilter, "kind", "reports__reason", "decision")
    search_fields = ("owner__email", "=id", "=target_id", "=chat_id")
    date_hierarchy = "created_at"
    ordering = ("pk",)  # the oldest first
    fields = readonly_fields = (
        *("kind", "target_id", "chat_id", "owner", "state", "assigned_to"),
        *("decision", "decided_by", "decided_at", "hides", "is_answered", "created_at"),
    )
    actions = ("claim", "release", "dismiss", "hide")
    action_form = ReasonActionForm
    change_form_template = "admin/moderation/case/change_form.html"
    change_list_template = "admin/moderation/case/change_list.html"

    class Media:
        js = (Script("js/moderation.js", type="module"),)
        css = {"all": ("css/moderation.css",)}

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the cases, with whether they were reported."""
        reported = Exists(Report._base_manager.filter(case=OuterRef("pk")))
        return super().get_queryset(request).annotate(is_reported=reported)

    @admin.display(description=_("Why"), boolean=False)
    def why(self, case: Any) -> str:
        """Return whether it was reported by a user or flagged by a rule."""
        return gettext("reported") if case.is_reported else gettext("flagged")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid changes other than decisions."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid deletion."""
        return False

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may decide cases."""
        return request.user.has_perm("moderation.decide_case")

    @admin.action(description=_("Claim"), permissions=["decide"])
    def claim(self, request: Any, queryset: Any) -> None:
        """Claim the selected cases."""
        self._each(request, queryset, lambda pk: claim(request.user, pk))

    @admin.action(description=_("Release"), permissions=["decide"])
    def release(self, request: Any, queryset: Any) -> None:
        """Give the selected cases back to the queue."""
        self._each(request, queryset, lambda pk: release(request.user, pk))

    @admin.action(description=_("Dismiss, for the reason"), permissions=["decide"])
    def dismiss(self, request: Any, queryset: Any) -> None:
        """Dismiss the selected cases."""
        self._decide_each(request, queryset, Decision.DISMISS)

    @admin.action(description=_("Hide, for the reason"), permissions=["decide"])
    def hide(self, request: Any, queryset: Any) -> None:
        """Hide what the selected cases are about."""
        self._decide_each(request, queryset, Decision.HIDE)

    def _decide_each(self, request: Any, queryset: Any, decision: str) -> None:
        reason = request.POST.get("reason", "")
        self._each(request, queryset, lambda pk: decide(request.user, pk, decision, reason=reason))

    def _each(self, request: HttpRequest, queryset: Any, work: Callable[[UUID], object]) -> None:
        """Do the work for each case, and say which were refused."""
        refusals: list[str] = []
        ids = list(queryset.order_by("pk").values_list("pk", flat=True))
        for pk in ids:
            try:
                work(pk)
            except Problem as problem:
                refusals.append(_message(problem))
        if done := len(ids) - len(refusals):
            messages.success(request, gettext("Done: %(count)s.") % {"count": done})
        for text in sorted(set(refusals)):
            messages.error(
                request,
                gettext("Refused: %(count)s. %(reason)s") % {"count": refusals.count(text), "reason": translated(text)},
            )

    def change_view(self, request: Any, object_id: str, form_url: str = "", extra_context: Any = None) -> Any:
        """Show a case with its reports, flags and history, and what can be done with it."""
        case = self.get_object(request, object_id)
        context = _context(request, case) if case else {}
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    def get_urls(self) -> list[Any]:
        """Add the actions of the page of a case, and the dashboard."""
        act, board = self.admin_site.admin_view(self.act), self.admin_site.admin_view(self.dashboard)
        return [
            path("dashboard/", board, name="moderation_dashboard"),
            path("<uuid:case_id>/do/<slug:action>/", act, name="moderation_act"),
            *super().get_urls(),
        ]

    def dashboard(self, request: HttpRequest) -> HttpResponse:
        """Show the figures of the installation."""
        return dashboard(request, self.admin_site.each_context(request))

    def act(self, request: Any, case_id: UUID, action: str) -> HttpResponse:
        """Do one of the actions of the page of a case."""
        if action not in ACTIONS or request.method != "POST":
            raise Http404
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            done = ACTIONS[action](request, case_id)
        except Problem as problem:
            messages.error(request, _message(problem))
            return redirect("admin:moderation_case_change", case_id)
        if isinstance(done, Look):
            return redirect("admin:moderation_look_content", look_id=done.pk)
        messages.success(request, "Done.")
        return redirect("admin:moderation_case_change", case_id)


def _decide(request: Any, case_id: UUID) -> Case:
    form = DecisionForm(request.user, request.POST)
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise Problem(f"{form.fields[name].label or name}: {errors[0]}")
    return decide(request.user, case_id, **form.cleaned_data)


ACTIONS: dict[str, Callable[[Any, UUID], Case | Look]] = {
    "claim": lambda request, pk: claim(request.user, pk),
    "release": lambda request, pk: release(request.user, pk),
    "note": lambda request, pk: note(request.user, pk, request.POST.get("reason", "")),
    "look": lambda request, pk: look_at_case(request.user, pk, request.POST.get("reason", "")),
    "reverse": lambda request, pk: reverse(request.user, pk, reason=request.POST.get("reason", "")),
    "uphold": lambda request, pk: uphold(request.user, pk, reason=request.POST.get("reason", "")),
    "decide": _decide,
}


def _message(problem: Problem) -> str:
    errors = getattr(problem, "errors", None) or []
    return " ".join(error.detail for error in errors) or problem.detail


def _context(request: HttpRequest, case: Case) -> dict[str, Any]:
    live = Look._base_manager.filter(case=case, moderator=request.user.pk, expires_at__gt=timezone.now())
    return {
        "reports": Report._base_manager.filter(case=case).select_related("owner").order_by("pk"),
        "flags": Flag._base_manager.filter(case=case).order_by("pk"),
        "notices": Notice._base_manager.filter(case=case).order_by("pk"),
        "history": Action.objects.filter(case_id=case.pk).order_by("at"),
        "others": Case._base_manager.filter(owner=case.owner_id).exclude(pk=case.pk).order_by("-pk")[:20],
        "live_look": live.order_by("-pk").first(),
        "can_decide": request.user.has_perm("moderation.decide_case"),
        "can_look": request.user.has_perm("moderation.look_at_content"),
        "can_reverse": case.decision in (Decision.HIDE, Decision.SUSPEND, Decision.BAN),
        "decision_form": DecisionForm(cast(User, request.user)),
        "reason_form": ReasonForm(auto_id=False),
    }
