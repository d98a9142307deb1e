"""Forms that write, find, change and move messages."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.core.validators import MaxValueValidator
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.chats.dates import timestamp
from apps.chats.forms.fields import TextField
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Chat, Message, Persona
from apps.chats.operations.patches import Patch
from apps.chats.queries import list_personas

USER = "user"  # the key of the speaker of a chat without a persona


class PositionForm(forms.Form):
    """A position in a chat: ``?at=`` an index, or ``?on=`` a date."""

    at = forms.IntegerField(required=False, min_value=0)
    on = forms.DateField(required=False)

    def value_of(self, name: str) -> Any:
        """Return the value of a field, or None if it is missing or invalid."""
        self.is_valid()
        return self.cleaned_data.get(name)


class MessageForm(forms.Form):
    """A new message, written by the user as one of their personas, or pasted as the reply of another speaker."""

    text = TextField(error_messages={"required": _("Write something first.")}, label=_("Text"))
    speaker = forms.ChoiceField(required=False, label=_("Write as"))

    def __init__(self, *args: Any, chat: Chat, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.personas = {str(persona.pk): persona for persona in list_personas(user)}
        # The user's name in this chat comes first, then the other personas.
        self.own = str(chat.persona_id) if chat.persona_id else USER
        self.roles = {self.own: chat.user_name or user.get_short_name()}
        for key, persona in self.personas.items():
            self.roles.setdefault(key, persona.name)
        self.names = self.roles | _other_speakers(chat)
        cast(forms.ChoiceField, self.fields["speaker"]).choices = list(self.names.items())

    @property
    def persona(self) -> Persona | None:
        """Return the chosen persona, or None if it is the chat's own or another speaker."""
        speaker = self.cleaned_data["speaker"]
        return None if speaker == self.own else self.personas.get(speaker)

    def parsed(self) -> ParsedMessage:
        """Return the message, dated now."""
        now = timezone.now()
        speaker = self.cleaned_data["speaker"] or self.own
        return ParsedMessage(
            name=self.names[speaker],
            is_user=speaker in self.roles,
            is_system=False,
            send_date=timestamp(now),
            sent_at=now,
            swipe_id=0,
            swipes=(ParsedSwipe(self.cleaned_data["text"].strip()),),
            layout="",
        )


def _other_speakers(chat: Chat) -> dict[str, str]:
    """Return the names of the speakers besides the user, by key: participants of a group chat, else the character."""
    if chat.is_group:
        return {str(participant.pk): participant.name for participant in chat.participants.order_by("position")}
    return {"character": chat.character.name if chat.character else gettext("the other")}


class EditForm(forms.Form):
    """The new text of a message, and the integrity of the chat when the old text was read."""

    text = TextField(error_messages={"required": _("A message can't be empty.")})
    integrity = forms.UUIDField(widget=forms.HiddenInput)

    @classmethod
    def from_message(cls, message: Message, integrity: UUID) -> "EditForm":
        return cls(initial={"text": message.mes, "integrity": integrity})

    def patch(self, message: Message) -> Patch | None:
        """Return the patch, or None if only line ends differ."""
        text = self.cleaned_data["text"]
        return None if text == message.mes.replace("\r\n", "\n") else Patch({"mes": text}, id=message.pk)


class SwipeForm(forms.Form):
    """The swipe to show, by its position ``to``; or ``delete`` the active one."""

    to = forms.IntegerField(required=False, min_value=0)
    delete = forms.BooleanField(required=False)

    def parts(self, message: Message) -> dict[str, int]:
        """Return the parts of a patch. A position past the end means the last swipe: others may have been deleted."""
        last = len(message.ordered_swipes) - 1
        if self.cleaned_data["delete"]:
            return {"delete_swipe": message.swipe_id} if last else {}
        return {"swipe_id": min(self.cleaned_data["to"] or 0, last)}


class VersionForm(forms.Form):
    """A new swipe of a message."""

    text = TextField(error_messages={"required": _("A message can't be empty.")}, label=_("Text"))

    def parsed(self) -> ParsedSwipe:
        return ParsedSwipe(self.cleaned_data["text"].strip(), info={"send_date": timestamp(timezone.now())})


class MoveForm(forms.Form):
    to = forms.IntegerField(min_value=0)

    def __init__(self, *args: Any, last: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.IntegerField, self.fields["to"]).validators.append(MaxValueValidator(last))
