"""Forms of the pages of replies."""

from typing import Any

from django import forms

from apps.chats.models import Character, Chat
from apps.replies.models import Generation


class ReplyForm(forms.Form):
    """Form that asks for a reply. ``character`` may be one who takes part in the chat."""

    mode = forms.ChoiceField(choices=Generation.Mode.choices)
    character = forms.ModelChoiceField(Character.objects.none(), required=False)

    def __init__(self, *args: Any, chat: Chat, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        characters = Character.objects.for_owner(chat.owner_id).filter(participations__chat=chat)
        self.fields["character"].queryset = characters.distinct()  # type: ignore[attr-defined]
