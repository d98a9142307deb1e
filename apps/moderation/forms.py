"""Forms of the users' pages and of the admin."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.scoping import system_scope
from apps.moderation.models import Decision, Look, Notice, Reason, Report
from apps.moderation.operations.decisions import MAX_DAYS, PERMISSIONS
from apps.moderation.operations.looks import MIN_REASON

ROWS = {"rows": 3}


class ReportForm(forms.Form):
    """Form for a report."""

    reason = forms.ChoiceField(choices=[("", _("Choose …")), *Reason.choices], label=_("What is wrong with it?"))
    note = forms.CharField(
        max_length=Report.MAX_NOTE,
        required=False,
        widget=forms.Textarea(attrs=ROWS),
        help_text=_("What a moderator should know. They may read what you report, and you will see when they do."),
        label=_("Note"),
    )


class AnswerForm(forms.Form):
    """Form for an answer to a decision."""

    text = forms.CharField(max_length=Notice.MAX_ANSWER, label=_("Your answer"), widget=forms.Textarea(attrs=ROWS))


class DecisionForm(forms.Form):
    """Form for a decision in the admin."""

    decision = forms.ChoiceField(choices=Decision.choices, widget=forms.RadioSelect)
    reason = forms.CharField(
        max_length=2000, widget=forms.Textarea(attrs=ROWS), help_text=_("The owner reads this, except for a dismissal.")
    )
    days = forms.IntegerField(min_value=1, max_value=MAX_DAYS, initial=7, help_text=_("Of a suspension."))
    also_hide = forms.BooleanField(required=False, label=_("Hide it too"), help_text=_("With a suspension or a ban."))

    def __init__(self, moderator: User, *args: Any, **kwargs: Any) -> None:
        """Offer the decisions that the moderator's role allows."""
        super().__init__(*args, **kwargs)
        field = cast(forms.ChoiceField, self.fields["decision"])
        field.choices = [
            (value, label)
            for value, label in Decision.choices
            if value != Decision.REVERSE and moderator.has_perm(f"moderation.{PERMISSIONS.get(value, 'decide_case')}")
        ]


class ReasonForm(forms.Form):
    """Form for a text that an action needs."""

    reason = forms.CharField(max_length=2000, required=False, widget=forms.Textarea(attrs=ROWS))


class ChatLookForm(forms.ModelForm):
    """Form that opens a chat about which there is no case."""

    chat_id = forms.UUIDField(label=_("Id of the chat"))

    class Meta:
        model = Look
        fields = ("chat_id", "reason")

    def clean_chat_id(self) -> UUID:
        """Return the id of a chat that exists. Raise ValidationError."""
        chat_id: UUID = self.cleaned_data["chat_id"]
        with system_scope():
            if not Chat.objects.filter(pk=chat_id).exists():
                raise forms.ValidationError(gettext("There is no such chat."))
        return chat_id

    def clean_reason(self) -> str:
        """Return a reason that is long enough. Raise ValidationError."""
        reason: str = self.cleaned_data["reason"].strip()
        if len(reason) < MIN_REASON:
            raise forms.ValidationError(
                gettext("Say why, in at least %(min_reason)s characters. The owner will read it.")
                % {"min_reason": MIN_REASON}
            )
        return reason
