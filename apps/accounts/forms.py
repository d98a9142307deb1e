"""Forms of the settings pages."""

import datetime as dt
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiToken, User
from apps.common.scoping import MAX_NAMESPACE_LENGTH


def time_zones() -> list[tuple[str, str]]:
    """Return the choices of time zones, by name."""
    return [(name, name.replace("_", " ")) for name in sorted(available_timezones())]


def languages() -> list[tuple[str, str]]:
    """Return the choices of languages, each by its own name."""
    return [("", gettext("Automatic")), *settings.LANGUAGES]


class ProfileForm(forms.Form):
    """Form for the user's name, time zone and language."""

    name = forms.CharField(max_length=100, required=False, help_text=_("Shown on pages."), label=_("Name"))
    time_zone = forms.ChoiceField(
        choices=time_zones, required=False, help_text=_("Where your day begins, for the journal."), label=_("Time zone")
    )
    language = forms.ChoiceField(
        choices=languages,
        required=False,
        label=_("Language"),
        help_text=_("Of pages and mails. Automatic: the language of your browser."),
    )


class ClosingForm(forms.Form):
    """Form that confirms that an account is to be deleted: by its password, or its address if it has none."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        if user.has_usable_password():
            attributes = {"autocomplete": "current-password"}
            field: forms.CharField = forms.CharField(label=gettext("Password"), widget=forms.PasswordInput(attributes))
        else:
            field = forms.CharField(label=gettext("Your e-mail address"), help_text=gettext("To confirm."))
        self.fields["confirmation"] = field

    def clean_confirmation(self) -> str:
        """Raise ValidationError unless it is the user's."""
        value: str = self.cleaned_data["confirmation"]
        if self.user.has_usable_password():
            is_right = self.user.check_password(value)
        else:
            is_right = value.strip().casefold() == self.user.email.casefold()
        if not is_right:
            raise forms.ValidationError(gettext("That is not right."))
        return value


class TokenForm(forms.Form):
    """Form for a new API token."""

    LIFETIMES = [("", _("Never")), ("30", _("In 30 days")), ("90", _("In 90 days")), ("365", _("In a year"))]

    name = forms.CharField(max_length=100, help_text=_("The program that will use it."), label=_("Name"))
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices, initial=ApiToken.Scope.WRITE, label=_("Scope"))
    instance = forms.RegexField(
        r"^[a-z0-9-]{1,64}$",
        required=False,
        label=_("Instance"),
        help_text=_("Only for a program that syncs: it may then pull and push in no other name."),
    )
    namespace = forms.CharField(
        required=False,
        max_length=MAX_NAMESPACE_LENGTH,
        label=_("Namespace"),
        help_text=_("Only for one end user of your own application: the token sees nothing else."),
    )
    days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, empty_value=None, required=False, label=_("Expires"))

    def token_fields(self) -> dict[str, Any]:
        """Return arguments for ``operations.create_token``."""
        days = self.cleaned_data["days"]
        return {
            "name": self.cleaned_data["name"],
            "scope": self.cleaned_data["scope"],
            "instance": self.cleaned_data["instance"],
            "expires_at": timezone.now() + dt.timedelta(days=days) if days else None,
        }
