"""Views of the settings pages: profile, security, API tokens."""

from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts import operations
from apps.accounts.forms import ClosingForm, ProfileForm, TokenForm
from apps.accounts.models import ApiToken, User
from apps.accounts.ready_lines import PLACEHOLDER, programs
from apps.accounts.settings_pages import GROUPS
from apps.common.pages.settings_index import find_settings

MAX_QUERY = 100


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """Show the profile and what else can be set, or save the profile. `q` finds a setting by its words."""
    user = cast(User, request.user)
    initial = {"name": user.name, "time_zone": user.time_zone, "language": user.language}
    form = ProfileForm(request.POST or None, initial=initial)
    if form.is_valid():
        operations.edit_profile(user, **form.cleaned_data)
        messages.success(request, gettext("Saved."))
        return redirect("settings:index")
    query = request.GET.get("q", "").strip()[:MAX_QUERY]
    context = {"form": form, "query": query, "found": find_settings(query), "groups": GROUPS}
    return render(request, "accounts/settings.html", context, status=400 if form.errors else 200)


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def closing(request: HttpRequest) -> HttpResponse:
    """Ask for a confirmation that the account is to be deleted, or show when it will be."""
    user = cast(User, request.user)
    form = ClosingForm(user, request.POST or None)
    if form.is_valid():
        operations.close_account(user)
        return redirect("settings:closing")
    context = {"form": form, "days": settings.ACCOUNT_DELETION_DAYS}
    return render(request, "accounts/closing.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def keep(request: HttpRequest) -> HttpResponse:
    """Keep an account that was to be deleted."""
    operations.keep_account(cast(User, request.user))
    messages.success(request, gettext("Your account stays, with everything in it."))
    return redirect("settings:index")


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """List the API tokens. A POST creates one and shows its secret, which can't be shown again."""
    form = TokenForm(request.POST or None)
    secret = None
    if form.is_valid():
        _, secret = operations.create_token(request.user, **form.token_fields())
        form = TokenForm()
    address = f"{request.scheme}://{request.get_host()}"
    context = {
        "form": form,
        "secret": secret,
        "programs": programs(address, secret or PLACEHOLDER),
        "tokens": ApiToken.objects.for_owner(request.user).filter(revoked_at=None).order_by("-pk"),
    }
    return render(request, "accounts/tokens.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """Revoke a token."""
    token = get_object_or_404(ApiToken.objects.for_owner(request.user), pk=token_id)
    operations.revoke_token(token)
    messages.success(
        request,
        gettext("The token “%(name)s” was revoked. Programs that use it are signed out.") % {"name": token.name},
    )
    return redirect("settings:tokens")
