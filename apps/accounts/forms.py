"""Forms of the settings pages."""

import datetime as dt
from typing import Any

from django import forms
from django.utils import timezone

from apps.accounts.models import ApiToken


class ProfileForm(forms.Form):
    """Form for the user's name."""

    name = forms.CharField(max_length=100, required=False, help_text="Shown on pages.")


class TokenForm(forms.Form):
    """Form for a new API token."""

    LIFETIMES = [("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year")]

    name = forms.CharField(max_length=100, help_text="The program that will use it.")
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices, initial=ApiToken.Scope.WRITE)
    days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, empty_value=None, required=False, label="Expires")

    def token_fields(self) -> dict[str, Any]:
        """Return arguments for ``operations.create_token``."""
        days = self.cleaned_data["days"]
        return {
            "name": self.cleaned_data["name"],
            "scope": self.cleaned_data["scope"],
            "expires_at": timezone.now() + dt.timedelta(days=days) if days else None,
        }
