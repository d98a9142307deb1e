"""Forms of the users' pages and of the admin."""

from django import forms

from apps.moderation.models import Decision, Notice, Reason, Report
from apps.moderation.operations.decisions import MAX_DAYS

ROWS = {"rows": 3}


class ReportForm(forms.Form):
    """Form for a report."""

    reason = forms.ChoiceField(choices=Reason.choices, label="What is wrong with it?")
    note = forms.CharField(
        max_length=Report.MAX_NOTE,
        required=False,
        widget=forms.Textarea(attrs=ROWS),
        help_text="What a moderator should know. They may read what you report, and you will see when they do.",
    )


class AnswerForm(forms.Form):
    """Form for an answer to a decision."""

    text = forms.CharField(max_length=Notice.MAX_ANSWER, label="Your answer", widget=forms.Textarea(attrs=ROWS))


class DecisionForm(forms.Form):
    """Form for a decision in the admin."""

    decision = forms.ChoiceField(choices=Decision.choices[:-1], widget=forms.RadioSelect)
    reason = forms.CharField(
        max_length=2000, widget=forms.Textarea(attrs=ROWS), help_text="The owner reads this, except for a dismissal."
    )
    days = forms.IntegerField(min_value=1, max_value=MAX_DAYS, initial=7, help_text="Of a suspension.")
    also_hide = forms.BooleanField(required=False, label="Hide it too", help_text="With a suspension or a ban.")


class ReasonForm(forms.Form):
    """Form for a text that an action needs."""

    reason = forms.CharField(max_length=2000, required=False, widget=forms.Textarea(attrs=ROWS))


class ChatLookForm(forms.Form):
    """Form that opens a chat about which there is no case."""

    chat_id = forms.UUIDField(label="Id of the chat")
    reason = forms.CharField(
        max_length=2000, widget=forms.Textarea(attrs=ROWS), help_text="The owner of the chat will read it."
    )
