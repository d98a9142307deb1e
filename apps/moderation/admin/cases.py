"""Admin pages of cases: the moderators' desk, with the queue, its bulk actions and the page of a case."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.forms import CharField
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.admin import OwnedAdmin
from apps.common.problems import Problem
from apps.moderation.admin import desk
from apps.moderation.admin.acts import Acts, message_of, undo_tags
from apps.moderation.admin.dashboard import dashboard
from apps.moderation.models import Case, Decision, Reason
from apps.moderation.operations.audit import kinds_of
from apps.moderation.operations.cases import claim, release
from apps.moderation.operations.decisions import decide


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
            ("done", gettext("Decided by me")),
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
                "done": Q(decided_by=request.user.pk),
                "all": Q(),
            }.get(self.value() or "", to_do)
        )


class ReasonFilter(admin.SimpleListFilter):
    """Why something was reported, also by an account that is gone."""

    title = _("reason")
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the reasons, and what no user has reported."""
        return [*Reason.choices, ("none", gettext("Flagged by a rule"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        """Return the cases that were reported for the reason."""
        if self.value() == "none":
            return queryset.filter(reasons=[])
        return queryset.filter(reasons__contains=[self.value()]) if self.value() else queryset


@admin.register(Case)
class CaseAdmin(Acts, OwnedAdmin):
    """Admin page of the queue. Nothing that users wrote is shown without a look."""

    list_display = ("created_at", "kind", "owner", "state", "decision", "assigned_to", "is_answered")
    list_select_related = ("owner", "assigned_to", "decided_by")
    list_filter = (QueueFilter, "kind", ReasonFilter, "decision")
    list_per_page = 50
    search_fields = ("owner__email", "=id", "=target_id", "=chat_id")
    ordering = ("pk",)  # the oldest first
    actions = ("claim", "release", "dismiss", "hide")
    action_form = ReasonActionForm
    change_list_template = "admin/moderation/desk.html"

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the cases about the kinds of things that the moderator's role allows."""
        return super().get_queryset(request).filter(kind__in=kinds_of(request.user))  # type: ignore[arg-type]

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
        self._each(request, queryset, lambda pk: decide(request.user, pk, decision, reason=reason), can_be_undone=True)

    def _each(
        self, request: HttpRequest, queryset: Any, work: Callable[[UUID], object], *, can_be_undone: bool = False
    ) -> None:
        """Do the work for each case, say which were refused, and offer to undo what can be undone."""
        refusals: list[str] = []
        done: list[UUID] = []
        for pk in queryset.order_by("pk").values_list("pk", flat=True):
            try:
                work(pk)
            except Problem as problem:
                refusals.append(message_of(problem))
            else:
                done.append(pk)
        if done:
            tags = undo_tags(done) if can_be_undone else ""
            messages.success(request, gettext("Done: %(count)s.") % {"count": len(done)}, extra_tags=tags)
        for text in sorted(set(refusals)):
            messages.error(
                request,
                gettext("Refused: %(count)s. %(reason)s") % {"count": refusals.count(text), "reason": text},
            )

    def changelist_view(self, request: Any, extra_context: Any = None) -> HttpResponse:
        """Show the queue, and the first of its cases where there is room for it."""
        response = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data is not None:
            queue = response.context_data["cl"]
            first = next(iter(queue.result_list), None)
            response.context_data |= desk.context(request, queue, first) | {"is_list": True}
        return response

    def change_view(self, request: Any, object_id: str, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show a case next to the list that the moderator came from."""
        case = self.get_object(request, object_id)
        if not self.has_view_permission(request, case):
            raise PermissionDenied
        if case is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined]
        queue = desk.queue_around(self, request)
        context = self.admin_site.each_context(request) | desk.context(request, queue, case)
        return TemplateResponse(request, "admin/moderation/desk.html", context | {"opts": self.opts})

    def get_urls(self) -> list[Any]:
        """Add the actions of the page of a case, and the dashboard."""
        view = self.admin_site.admin_view
        return [
            path("dashboard/", view(self.dashboard), name="moderation_dashboard"),
            path("undo/", view(self.undo_decisions), name="moderation_undo"),
            path("<uuid:case_id>/do/<slug:action>/", view(self.act), name="moderation_act"),
            path("<uuid:case_id>/state/", view(self.case_state), name="moderation_case_state"),
            *super().get_urls(),
        ]

    def dashboard(self, request: HttpRequest) -> HttpResponse:
        """Show the figures of the installation."""
        return dashboard(request, self.admin_site.each_context(request))
