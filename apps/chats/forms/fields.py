"""Fields that several forms of chats have."""

from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.models import MAX_TAG_LENGTH, MAX_TAGS, Persona


class TextField(forms.CharField):
    """A long text. Browsers send line ends as CR LF, which are converted to LF."""

    widget = forms.Textarea

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")

    def validate(self, value: str) -> None:
        super().validate(value.strip())


class TagsField(forms.CharField):
    """Tags, separated by commas. Repeated ones are left out."""

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        tags = (tag.strip() for tag in str(super().to_python(value)).split(","))
        return list(dict.fromkeys(tag for tag in tags if tag))

    def validate(self, value: list[str]) -> None:
        if len(value) > MAX_TAGS:
            raise forms.ValidationError(gettext("A chat can have %(max_tags)s tags.") % {"max_tags": MAX_TAGS})
        if any(len(tag) > MAX_TAG_LENGTH for tag in value):
            raise forms.ValidationError(
                gettext("A tag can have %(max_tag_length)s characters.") % {"max_tag_length": MAX_TAG_LENGTH}
            )

    def run_validators(self, value: Any) -> None:
        for tag in value:
            super().run_validators(tag)


class IdsField(forms.Field):
    """Several ids."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Any) -> list[UUID]:
        try:
            return [UUID(item) for item in value or ()]
        except ValueError:
            raise forms.ValidationError(gettext("This is not an id.")) from None


class PersonaField(forms.ModelChoiceField):
    """One of the user's personas, or none."""

    def __init__(self) -> None:
        super().__init__(
            queryset=Persona.objects.none(),
            required=False,
            label=_("Your persona"),
            empty_label=_("None, only a name"),
        )

    def label_from_instance(self, obj: Persona) -> str:
        return obj.name
