"""Forms of the settings pages."""

import datetime as dt
from typing import Any

from django import forms

from apps.accounts.models import ApiToken
from apps.common import clock


class ProfileForm(forms.Form):
    name = forms.CharField(max_length=100, required=False, help_text="How pages greet you.")


class TokenForm(forms.Form):
    LIFETIMES = [("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year")]

    name = forms.CharField(max_length=100, help_text="Which program it is for.")
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices, initial=ApiToken.Scope.WRITE)
    days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, empty_value=None, required=False, label="Expires")

    def token_fields(self) -> dict[str, Any]:
        """What ``operations.create_token`` takes."""
        days = self.cleaned_data["days"]
        return {
            "name": self.cleaned_data["name"],
            "scope": self.cleaned_data["scope"],
            "expires_at": clock.now() + dt.timedelta(days=days) if days else None,
        }
