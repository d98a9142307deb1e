"""Pages of webhooks: the list, one with its deliveries, a test, another try."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.common.problems import Conflict, Invalid, Problem
from apps.webhooks import operations
from apps.webhooks.forms import EVENTS, WebhookEditForm, WebhookForm
from apps.webhooks.models import Delivery, Webhook

PAGE_SIZE = 50


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List the webhooks. A POST adds one and shows its secret, which can't be shown again."""
    form: Form = WebhookForm(request.POST or None)
    added = None
    if form.is_valid():
        try:
            added = operations.create_webhook(request.user, **form.cleaned_data)
        except (Invalid, Conflict) as problem:
            _show(problem, form)
        else:
            form = WebhookForm()
    rows = [(webhook, [_label(event) for event in webhook.events]) for webhook in _webhooks(request).order_by("-pk")]
    context = {"form": form, "added": added, "rows": rows}
    return render(request, "webhooks/index.html", context, status=400 if form.errors else 200)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def detail(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Show a webhook and what was sent to it, newest first, or change it."""
    webhook = get_object_or_404(_webhooks(request), pk=webhook_id)
    form = WebhookEditForm(
        request.POST or None, initial={"url": webhook.url, "events": webhook.events, "active": webhook.active}
    )
    if form.is_valid():
        try:
            operations.update_webhook(webhook, **form.cleaned_data)
        except Invalid as problem:
            _show(problem, form)
        else:
            messages.success(request, gettext("Saved."))
            return redirect("webhooks:detail", webhook.pk)
    deliveries = Delivery.objects.for_owner(request.user).filter(webhook=webhook).order_by("-pk")
    page = Paginator(deliveries, PAGE_SIZE).get_page(request.GET.get("page"))
    rows = [(delivery, _label(delivery.event)) for delivery in page]
    context = {"webhook": webhook, "form": form, "page": page, "rows": rows}
    return render(request, "webhooks/detail.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def delete(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Delete a webhook with its deliveries."""
    webhook = get_object_or_404(_webhooks(request), pk=webhook_id)
    webhook.delete()
    messages.success(request, gettext("Deleted. Nothing is sent to %(url)s any more.") % {"url": webhook.url})
    return redirect("webhooks:index")


@login_required
@require_POST
def test(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Send a test."""
    webhook = get_object_or_404(_webhooks(request), pk=webhook_id)
    try:
        operations.send_test(webhook)
    except Conflict as problem:
        messages.error(request, problem.detail)
    else:
        messages.success(request, gettext("A test is on its way. Reload the page to see what came of it."))
    return redirect("webhooks:detail", webhook.pk)


@login_required
@require_POST
def retry(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> HttpResponse:
    """Send a delivery again."""
    rows = Delivery.objects.for_owner(request.user).filter(webhook=webhook_id)
    operations.retry(get_object_or_404(rows, pk=delivery_id))
    messages.success(request, gettext("It is sent again. Reload the page to see what came of it."))
    return redirect("webhooks:detail", webhook_id)


def _webhooks(request: HttpRequest) -> QuerySet[Webhook]:
    return Webhook.objects.for_owner(request.user)


def _show(problem: Problem, form: Form) -> None:
    """Add what is wrong to the form: at its field, or above all of them."""
    for error in problem.errors or ():
        name = error.pointer.lstrip("/")
        form.add_error(name if name in form.fields else None, error.detail)
    if not problem.errors:
        form.add_error(None, problem.detail)


def _label(event: str) -> str:
    return str(dict(EVENTS).get(event) or gettext("Test"))
