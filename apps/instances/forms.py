"""Forms by which a person registers an instance and settles a conflict."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.instance_names import LOCI
from apps.instances.models import Conflict
from apps.instances.operations.targets import LONG_TERM
from apps.memories.api.serializers import MAX_TEXT_LENGTH


class RegisterForm(forms.Form):
    """A new instance: its short name, its name and its type."""

    name_id = forms.RegexField(
        r"^[a-z0-9-]{1,64}\Z",
        label=_("Short name"),
        help_text=_("By which the program calls itself, such as “desk”: a to z, 0 to 9 and hyphens."),
        error_messages={"invalid": _("Use 1 to 64 of a to z, 0 to 9 and the hyphen.")},
    )
    name = forms.CharField(
        max_length=100, required=False, help_text=_("Shown here, such as “At the desk”."), label=_("Name")
    )
    type = forms.CharField(
        max_length=64, required=False, help_text=_("What it is, such as “terminal” or “app”."), label=_("Type")
    )

    def clean_name_id(self) -> str:
        name_id: str = self.cleaned_data["name_id"]
        if name_id == LOCI:
            raise forms.ValidationError(gettext("“%(loci)s” is the name of Loci itself.") % {"loci": LOCI})
        return name_id


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
            raise forms.ValidationError(gettext("Write the text that is to stand."))
        if self.conflict.item.tier == LONG_TERM and len(cleaned.get("text", "")) > MAX_TEXT_LENGTH:
            raise forms.ValidationError(
                gettext("A memory has at most %(max_text_length)s characters.") % {"max_text_length": MAX_TEXT_LENGTH}
            )
        return cleaned
