"""Who may sign up: everybody, who has an invitation, or nobody."""

import datetime as dt
import hashlib
import secrets
from typing import Any
from zoneinfo import available_timezones

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.forms import SignupForm
from allauth.core import context
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.models import Invitation, User

OPEN, INVITATION, CLOSED = "open", "invitation", "closed"
SESSION_KEY = "invitation"


def create_invitation(note: str, expires_at: dt.datetime) -> tuple[Invitation, str]:
    """Create an invitation for one person. Return it and its key, which can't be read again."""
    key = secrets.token_urlsafe(24)
    return Invitation.objects.create(note=note, expires_at=expires_at, digest=_digest_of(key)), key


def usable_invitations(key: str) -> Any:
    """Return the invitation with a key as a queryset, which is empty if it has expired or somebody used it."""
    return Invitation.objects.filter(digest=_digest_of(key), used_at=None, expires_at__gt=timezone.now())


def _digest_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class AccountAdapter(DefaultAccountAdapter):
    """Adapter that opens the sign-up as the setting SIGN_UP says."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether this visitor may sign up."""
        if settings.SIGN_UP == INVITATION:
            return usable_invitations(request.session.get(SESSION_KEY, "")).exists()
        return settings.SIGN_UP == OPEN

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Set the fields of a new user: also the time zone, in which their days begin and end."""
        user.time_zone = form.cleaned_data.get("time_zone") or user.time_zone
        return super().save_user(request, user, form, commit)


class InvitedSignupForm(SignupForm):
    """Form that uses up the visitor's invitation, where one is needed. A script fills in the browser's time zone."""

    time_zone = forms.CharField(required=False, widget=forms.HiddenInput({"data-time-zone": True}))

    def clean_time_zone(self) -> str:
        """Return the name of a time zone; an empty string for one that is not known here."""
        name: str = self.cleaned_data["time_zone"]
        return name if name in available_timezones() else ""

    def validate_unique_email(self, value: str) -> str:
        """Return the address. Raise ValidationError for a known one, where verification does not hide that.

        An invitation asks about one address: it is used up.
        """
        try:
            return super().validate_unique_email(value)
        except ValidationError:
            if settings.SIGN_UP == INVITATION:
                invitations = usable_invitations(context.request.session.get(SESSION_KEY, ""))
                invitations.update(used_at=timezone.now())
            raise

    def try_save(self, request: HttpRequest) -> tuple[User | None, HttpResponse | None]:
        """Create the user, or return another response: also if somebody else was faster with the invitation."""
        if settings.SIGN_UP != INVITATION:
            return super().try_save(request)
        with transaction.atomic():
            invitation = usable_invitations(request.session.get(SESSION_KEY, "")).select_for_update().first()
            if invitation is None:
                return None, redirect("account_signup")
            user, response = super().try_save(request)
            if user is not None:
                invitation.used_at, invitation.used_by = timezone.now(), user
                invitation.save(update_fields=["used_at", "used_by"])
        return user, response


@require_safe
@never_cache
def accept(request: HttpRequest, key: str) -> HttpResponse:
    """Keep the key of an invitation for the sign-up, which says so where it isn't valid any more."""
    request.session[SESSION_KEY] = key
    return redirect("account_signup")
