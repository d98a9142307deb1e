"""Forms of a chat: who the user is in it, its title, participants and branches."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.chats.forms.fields import PersonaField, TagsField
from apps.chats.models import Chat, Persona
from apps.chats.queries import default_persona, list_personas


class PlayedForm(forms.Form):
    """Who the user is in a chat: a persona, or a name without one."""

    persona = PersonaField()
    user_name = forms.CharField(
        max_length=200,
        required=False,
        label=_("Your name in the chat"),
        help_text=_("With a persona, the persona's name."),
    )

    def __init__(self, user: User, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        personas = list_personas(user)
        if personas:
            cast(PersonaField, self.fields["persona"]).queryset = personas
        else:
            del self.fields["persona"]
            self.fields["user_name"].help_text = ""

    def clean(self) -> dict[str, Any]:
        """Replace the name by the chosen persona's."""
        persona: Persona | None = self.cleaned_data.get("persona")
        return self.cleaned_data | ({"user_name": persona.name} if persona else {})


class NewChatForm(PlayedForm):
    title = forms.CharField(
        max_length=200, required=False, help_text=_("Default: the character's name."), label=_("Title")
    )
    character = forms.CharField(max_length=200, required=False, label=_("Character"))
    field_order = ("title", "character")

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(user, data, initial={"persona": default_persona(user)})
        self.asks_first_name = "persona" not in self.fields
        if self.asks_first_name:
            self.fields["user_name"].help_text = gettext("Characters call you so. It becomes your first persona.")


class ChatForm(PlayedForm):
    title = forms.CharField(max_length=200, label=_("Title"))
    tags = TagsField(
        required=False, help_text=_("Separated by commas. The list of chats can be filtered by them."), label=_("Tags")
    )
    field_order = ("title",)

    @classmethod
    def from_chat(cls, user: User, chat: Chat) -> "ChatForm":
        fields = {"title": chat.title, "user_name": chat.user_name, "persona": chat.persona_id}
        return cls(user, initial=fields | {"tags": ", ".join(chat.tags)})


class ParticipantForm(forms.Form):
    name = forms.CharField(max_length=200, label=_("Name of the participant"))


class BranchForm(forms.Form):
    title = forms.CharField(max_length=200, required=False, label=_("Title"))
    checkpoint = forms.BooleanField(required=False)
