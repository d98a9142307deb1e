"""Forms of the pages of replies."""

from typing import Any

from django import forms

from apps.chats.models import Character, Chat
from apps.replies.models import Generation
from apps.replies.prompts.assembly import note_of


class ReplyForm(forms.Form):
    """Form that asks for a reply. ``character`` may be one who takes part in the chat."""

    mode = forms.ChoiceField(choices=Generation.Mode.choices)
    character = forms.ModelChoiceField(Character.objects.none(), required=False)

    def __init__(self, *args: Any, chat: Chat, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        characters = Character.objects.for_owner(chat.owner_id).filter(participations__chat=chat)
        self.fields["character"].queryset = characters.distinct()  # type: ignore[attr-defined]


class NoteForm(forms.Form):
    """Form for the author's note of a chat. ``integrity`` names the state of the chat that the form was made of."""

    text = forms.CharField(
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="Author’s note",
        help_text="Guidance that stands within the conversation. Empty: none.",
    )
    depth = forms.IntegerField(min_value=0, max_value=1000, help_text="Number of messages that follow it.")
    integrity = forms.UUIDField(widget=forms.HiddenInput)

    @classmethod
    def from_chat(cls, chat: Chat) -> "NoteForm":
        text, depth = note_of(chat)
        return cls(initial={"text": text, "depth": depth, "integrity": chat.integrity})

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the values for the chat's metadata, under the keys that SillyTavern uses."""
        return {"note_prompt": self.cleaned_data["text"], "note_depth": self.cleaned_data["depth"]}
