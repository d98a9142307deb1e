"""Forms of the pages of replies, generation presets and the author's note."""

import re
from typing import Any

from django import forms
from django.utils.formats import number_format
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.forms.fields import TextField
from apps.chats.models import Character, Chat
from apps.common.settings.declarations import Setting
from apps.prompts.assembly.frame import DEFAULT_DEPTH, Note
from apps.replies.models import MAX_STOP_LENGTH, MAX_STOPS, Generation, GenerationPreset
from apps.replies.preset_numbers import NUMBERS
from apps.replies.presets import list_presets

MAX_NOTE_LENGTH = 20_000
MAX_NOTE_DEPTH = 10_000
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}  # a browser would change both line ends
CHARACTERS = {escape: character for character, escape in ESCAPES.items()}


def _range_error(number: Setting) -> str:
    """Return what is said of a value that isn't between the limits, in the language of the reader."""
    low_in_digits, high_in_digits = (number_format(f"{limit:g}") for limit in (number.low, number.high))
    return gettext("It must be between %(low)s and %(high)s.") % {"low": low_in_digits, "high": high_in_digits}


class ReplyForm(forms.Form):
    """Form that asks for a reply.

    ``character`` may be one who takes part in the chat. ``preset`` applies instead of the default one. ``during`` is
    the id of the reply that was being written when the user sent the message to answer.
    """

    mode = forms.ChoiceField(choices=Generation.Mode.choices)
    character = forms.ModelChoiceField(Character.objects.none(), required=False)
    preset = forms.ModelChoiceField(GenerationPreset.objects.none(), required=False)
    during = forms.UUIDField(required=False)

    def __init__(self, *args: Any, chat: Chat, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        characters = Character.objects.for_owner(chat.owner_id).filter(pk__in=chat.participants.values("character"))
        self.fields["character"].queryset = characters  # type: ignore[attr-defined]
        self.fields["preset"].queryset = list_presets(chat.owner_id)  # type: ignore[attr-defined]


class StopsField(forms.CharField):
    r"""Texts, one a line; in a text, ``\n`` stands for a line break, and ``\\`` for a backslash."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            strip=False,
            label=_("Stop at"),
            widget=forms.Textarea(attrs={"rows": 3}),
            help_text=format_lazy(
                _("Up to {number} texts that end a reply, one a line. \\n is a line break: {example}"),
                number=MAX_STOPS,
                example=r"\n{{user}}:",
            ),
        )

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return "\n".join(re.sub(r"[\\\n\r]", lambda match: ESCAPES[match[0]], text) for text in value)

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        lines = str(super().to_python(value)).replace("\r\n", "\n").split("\n")
        return [re.sub(r"\\[\\nr]", lambda match: CHARACTERS[match[0]], line) for line in lines if line]

    def validate(self, value: list[str]) -> None:
        if len(value) > MAX_STOPS:
            raise forms.ValidationError(gettext("A preset can have %(max_stops)s texts.") % {"max_stops": MAX_STOPS})
        if any(len(text) > MAX_STOP_LENGTH for text in value):
            raise forms.ValidationError(
                gettext("A text can have %(max_stop_length)s characters.") % {"max_stop_length": MAX_STOP_LENGTH}
            )

    def run_validators(self, value: Any) -> None:
        for text in value:
            super().run_validators(text)


def number_field(setting: Setting, **options: Any) -> forms.Field:
    """Return the field of a number in a form that inherits nothing. It is required unless the default is None."""
    limits: dict[str, Any] = {"min_value": setting.low, "max_value": setting.high}
    return (forms.IntegerField if setting.kind is int else forms.FloatField)(
        required=setting.default is not None,
        label=setting.label,
        help_text=setting.help,
        **limits,
        **options,
    )


class PresetForm(forms.Form):
    name = forms.CharField(max_length=200, label=_("Name"))
    is_default = forms.BooleanField(
        required=False, label=_("Use by default"), help_text=_("For replies for which no preset is chosen.")
    )
    temperature = number_field(NUMBERS["temperature"])
    top_p = number_field(NUMBERS["top_p"])
    top_k = number_field(NUMBERS["top_k"])
    min_p = number_field(NUMBERS["min_p"])
    repetition_penalty = number_field(
        NUMBERS["repetition_penalty"],
        error_messages=dict.fromkeys(
            ("min_value", "max_value"), lazy(_range_error, str)(NUMBERS["repetition_penalty"])
        ),
    )
    max_tokens = number_field(NUMBERS["max_tokens"])
    stop = StopsField()
    system_prompt = TextField(
        required=False,
        help_text=_("For characters without one. {{original}} is Loci’s own; empty: that one."),
        label=_("System prompt"),
    )
    post_history_instructions = TextField(
        required=False,
        label=_("Post-history instructions"),
        help_text=_("After the conversation, for characters without any."),
    )

    @classmethod
    def from_preset(cls, preset: GenerationPreset) -> "PresetForm":
        return cls(initial={name: getattr(preset, name) for name in cls.base_fields})


class NoteForm(forms.Form):
    text = TextField(
        required=False,
        max_length=MAX_NOTE_LENGTH,
        label=_("Note"),
        help_text=_("Stands in every prompt of this chat. {{char}} and {{user}} are replaced. Empty: no note."),
    )
    depth = forms.IntegerField(
        min_value=0,
        max_value=MAX_NOTE_DEPTH,
        initial=DEFAULT_DEPTH,
        help_text=_("How many messages follow the note. 0: it comes after the last one."),
        label=_("Depth"),
    )

    def note(self) -> Note:
        return Note(self.cleaned_data["text"].strip(), self.cleaned_data["depth"])
