"""The form of the recall card."""

from django import forms
from django.utils.translation import gettext_lazy as _

MAX_TEXT_LENGTH = 100_000  # characters


class RecallForm(forms.Form):
    """Edit the text of a recall."""

    text = forms.CharField(
        label=_("Text in the prompt"),
        label_suffix="",
        max_length=MAX_TEXT_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 10, "class": "recall-text"}),
    )
    # That of the text which the form was made with: another one, made elsewhere meanwhile, is not replaced unseen.
    rev = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)
