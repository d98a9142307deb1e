"""Forms of a chat: who the user is in it, its title, participants and branches."""

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.chats.forms.fields import PersonaField, TagsField
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import MAX_FOLDER_LENGTH, Character, Chat, Persona
from apps.chats.queries import default_persona, list_personas
from apps.common.scoping import Owner
from apps.llm.models import Connection
from apps.llm.queries import writing_connections


class PlayedForm(forms.Form):
    """Who the user is in a chat: a persona, or a name without one."""

    persona = PersonaField()
    user_name = forms.CharField(
        max_length=MAX_NAME_LENGTH,
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
    """A new chat: with the character that ``start`` or a name tells, or as a ``group`` with each ``member``.

    ``start`` is the id of a character, with the number of a greeting after a colon or without.
    """

    title = forms.CharField(
        max_length=MAX_NAME_LENGTH, required=False, help_text=_("Default: the character's name."), label=_("Title")
    )
    character = forms.CharField(max_length=MAX_NAME_LENGTH, required=False, label=_("Character"))
    start = forms.CharField(max_length=50, required=False)
    group = forms.BooleanField(required=False)
    member = forms.ModelMultipleChoiceField(Character.objects.none(), required=False)
    field_order = ("title", "character")

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(user, data, initial={"persona": default_persona(user)})
        self.characters = Character.objects.for_owner(user).own()
        cast(forms.ModelMultipleChoiceField, self.fields["member"]).queryset = self.characters
        self.asks_first_name = "persona" not in self.fields
        if self.asks_first_name:
            self.initial["user_name"] = user.name
            self.fields["user_name"].help_text = gettext("Characters call you so. It becomes your first persona.")

    def clean(self) -> dict[str, Any]:
        """Return the fields with the character of ``start`` and the number of the ``greeting``."""
        fields = super().clean()
        character_id, _, number = fields.get("start", "").partition(":")
        if number and not number.isdecimal():
            self.add_error("start", gettext("There is no such greeting."))
        if fields.get("group") and not fields.get("member"):
            self.add_error("member", gettext("Choose who takes part."))
        character = self._character(character_id) if character_id else None
        return fields | {"start": character, "greeting": int(number) if number.isdecimal() else 0}

    def _character(self, character_id: str) -> Character | None:
        try:
            return self.characters.get(pk=character_id)
        except (Character.DoesNotExist, ValidationError):
            self.add_error("start", gettext("There is no such character."))
            return None


class ChatForm(PlayedForm):
    title = forms.CharField(max_length=MAX_NAME_LENGTH, label=_("Title"))
    folder = forms.CharField(
        max_length=MAX_FOLDER_LENGTH,
        required=False,
        label=_("Folder"),
        help_text=_("Empty: in the list itself."),
        widget=forms.TextInput({"list": "folders", "autocomplete": "off"}),
    )
    tags = TagsField(
        required=False, help_text=_("Separated by commas. The list of chats can be filtered by them."), label=_("Tags")
    )
    field_order = ("title",)

    @classmethod
    def from_chat(cls, user: User, chat: Chat) -> "ChatForm":
        fields = {"title": chat.title, "user_name": chat.user_name, "persona": chat.persona_id}
        return cls(user, initial=fields | {"folder": chat.folder, "tags": ", ".join(chat.tags)})


class ModelForm(forms.Form):
    """The connection whose model replies in a chat; empty for the one that the user uses in all chats."""

    connection = forms.ModelChoiceField(Connection.objects.none(), required=False)

    def __init__(self, *args: Any, user: Owner, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.ModelChoiceField, self.fields["connection"]).queryset = writing_connections(user)


class ParticipantForm(forms.Form):
    name = forms.CharField(max_length=MAX_NAME_LENGTH, label=_("Name of the participant"))


class BranchForm(forms.Form):
    title = forms.CharField(max_length=MAX_NAME_LENGTH, required=False, label=_("Title"))
    checkpoint = forms.BooleanField(required=False)
