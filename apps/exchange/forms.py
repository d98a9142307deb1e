"""The form of an import of memories."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Lorebook
from apps.common.scoping import Owner


class ImportForm(forms.Form):
    """A file, or one of the owner's lorebooks."""

    file = forms.FileField(
        label=_("A file"),
        required=False,
        allow_empty_file=True,
        help_text=_(
            "A lorebook, a card with one, SillyTavern's settings.json with memories of Smart Memory, a backup of "
            "ST-BME, an export of mem0, Letta, Zep, Open WebUI or Claude, or a list as text or Markdown, such as "
            "memories copied from ChatGPT."
        ),
    )
    lorebook: Any = forms.ModelChoiceField(Lorebook.objects.none(), label=_("Or a lorebook in Loci"), required=False)

    def __init__(self, *args: Any, owner: Owner, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["lorebook"].queryset = Lorebook.objects.for_owner(owner).order_by("name", "pk")  # type: ignore[attr-defined]
        self.fields["lorebook"].label_from_instance = lambda book: book.name  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given = [value for value in (super().clean() or {}).values() if value]
        if not self.errors and len(given) != 1:
            raise forms.ValidationError(gettext("Choose either a file or a lorebook."))
        return {"source": given[0]} if given else {}
