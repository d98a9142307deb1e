"""The form of the recall card."""

from django import forms

MAX_TEXT = 100_000


class RecallForm(forms.Form):
    text = forms.CharField(
        label="As it goes into the prompt",
        label_suffix="",
        max_length=MAX_TEXT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 10, "class": "recall-text"}),
    )
