"""The page of instances and of conflicts between what they wrote."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.common import problems
from apps.instances.forms import RegisterForm, SettleForm
from apps.instances.models import Conflict
from apps.instances.operations.conflicts import apply_choice
from apps.instances.operations.registration import register_with_token, remove
from apps.instances.queries import open_conflicts, present_instances

PAGE_SIZE = 20


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List the instances and the open conflicts, the oldest first.

    A POST registers an instance and shows the secret of its token, which can't be shown again.
    """
    form = RegisterForm(request.POST or None)
    registered, secret = None, ""
    if form.is_valid():
        try:
            registered, secret = register_with_token(request.user, **form.cleaned_data)
        except problems.Conflict as problem:
            form.add_error("name_id", problem.detail)
        else:
            form = RegisterForm()
    conflicts = Paginator(open_conflicts(request.user).order_by("pk"), PAGE_SIZE)
    context = {
        "form": form,
        "registered": registered,
        "secret": secret,
        "instances": present_instances(request.user).order_by("name_id"),
        "page": conflicts.get_page(request.GET.get("page")),
    }
    return render(request, "instances/index.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def remove_instance(request: HttpRequest, instance_id: str) -> HttpResponse:
    """Remove an instance, whose memories stay."""
    instance = get_object_or_404(present_instances(request.user), name_id=instance_id)
    remove(instance)
    messages.success(
        request, gettext("“%(value)s” was removed. What it wrote stays.") % {"value": instance.name or instance.name_id}
    )
    return redirect("instances:index")


@login_required
@require_POST
def settle_conflict(request: HttpRequest, conflict_id: UUID) -> HttpResponse:
    """Settle a conflict by the form below it."""
    rows = Conflict.objects.for_owner(request.user).select_related("item")
    conflict = get_object_or_404(rows, pk=conflict_id)
    form = SettleForm(request.POST, conflict=conflict)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return redirect("instances:index")
    try:
        apply_choice(
            request.user,
            conflict,
            form.cleaned_data["choice"],
            text=form.cleaned_data["text"],
            editor=str(request.user),
        )
    except problems.Conflict as problem:
        messages.error(request, problem.detail)
    else:
        messages.success(request, gettext("Settled. Instances get it when they next pull."))
    return redirect("instances:index")
