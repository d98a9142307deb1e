"""Form by which a person settles a conflict."""

from typing import Any

from django import forms

from apps.instances.models import Conflict
from apps.instances.operations.targets import LONG_TERM
from apps.memories.api.serializers import MAX_TEXT_LENGTH


class SettleForm(forms.Form):
    """The choice, and the person's own text if they chose to write one."""

    choice = forms.ChoiceField(choices=Conflict.Choice.choices)
    text = forms.CharField(required=False, max_length=200_000, widget=forms.Textarea)

    def __init__(self, *args: Any, conflict: Conflict, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conflict = conflict

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        if cleaned.get("choice") == Conflict.Choice.TEXT and not cleaned.get("text"):
            raise forms.ValidationError("Write the text that is to stand.")
        if self.conflict.item.tier == LONG_TERM and len(cleaned.get("text", "")) > MAX_TEXT_LENGTH:
            raise forms.ValidationError(f"A memory has at most {MAX_TEXT_LENGTH} characters.")
        return cleaned
