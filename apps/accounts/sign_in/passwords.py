"""Forms that set a new password, and revoke the API tokens if that is wanted."""

from typing import Any

from allauth.account import forms as allauth_forms
from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiToken
from apps.accounts.operations import revoke_token
from apps.common.database.restriction import restricted_to

# As our other labels are written, where allauth's have capitals.
LABELS = {
    "oldpassword": _("Current password"),
    "password1": _("New password"),
    "password2": _("New password, again"),
}


class RevokeTokensMixin(forms.Form):
    """Form with the choice to revoke the user's API tokens."""

    user: Any

    revoke_tokens = forms.BooleanField(
        required=False,
        label=_("Revoke my API tokens too"),
        help_text=_("Programs that use them are signed out. Other browsers are in any case."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in LABELS.keys() & self.fields.keys():
            self.fields[name].label = LABELS[name]
            self.fields[name].widget.attrs.pop("placeholder", None)

    def save(self) -> None:
        """Set the password."""
        super().save()  # type: ignore[misc]
        if not self.cleaned_data["revoke_tokens"]:
            return
        with restricted_to(self.user.pk):  # who has only a link is not signed in
            for token in ApiToken.objects.for_owner(self.user).filter(revoked_at=None):
                revoke_token(token)


class ChangePasswordForm(RevokeTokensMixin, allauth_forms.ChangePasswordForm):
    """Form of who knows the old password."""

    field_order = ("oldpassword", "password1", "password2", "revoke_tokens")


class ResetPasswordForm(RevokeTokensMixin, allauth_forms.ResetPasswordKeyForm):
    """Form of who has received a link by mail."""

    field_order = ("password1", "password2", "revoke_tokens")
