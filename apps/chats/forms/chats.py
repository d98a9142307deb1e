"""Forms of the chat pages."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.core.validators import MaxValueValidator
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.chats.dates import timestamp
from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.message_data.scenes import SceneBreak
from apps.chats.models import MAX_TAG_LENGTH, MAX_TAGS, Chat, Message, Persona, refuse_comma
from apps.chats.operations.organizing import Action
from apps.chats.operations.patches import Patch
from apps.chats.queries import default_persona, list_personas

USER = "user"  # the key of the speaker of a chat without a persona


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


class SearchForm(forms.Form):
    """The search words in ``?q=``."""

    q = forms.CharField(required=False, max_length=200)

    def words(self) -> str:
        """Return the words, or nothing if they can't be searched for."""
        return str(self.cleaned_data["q"]) if self.is_valid() else ""


class ChatListForm(SearchForm):
    """The words, the tag and the archive that a list of chats is filtered by. An invalid filter is ignored."""

    tag = forms.CharField(required=False, max_length=MAX_TAG_LENGTH, label=_("Tag"))
    archived = forms.BooleanField(required=False)

    def filters(self) -> dict[str, Any]:
        """Return the arguments of ``queries.list_chats``. A search by words finds archived chats too."""
        words = self.words()
        archived = bool(self.cleaned_data.get("archived"))
        return {
            "words": words,
            "tag": self.cleaned_data.get("tag", ""),
            "archived": archived or (None if words else False),
        }


class IdsField(forms.Field):
    """Several ids."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Any) -> list[UUID]:
        try:
            return [UUID(item) for item in value or ()]
        except ValueError:
            raise forms.ValidationError(gettext("This is not an id.")) from None


class OrganizeForm(forms.Form):
    """The chats that an action applies to, and the tag that it adds or removes."""

    chat = IdsField()
    tag = forms.CharField(max_length=MAX_TAG_LENGTH, required=False, validators=[refuse_comma])

    def __init__(self, data: Any, action: Action) -> None:
        super().__init__(data)
        self.fields["tag"].required = action in (Action.TAG, Action.UNTAG)


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


class BranchForm(forms.Form):
    title = forms.CharField(max_length=200, required=False, label=_("Title"))
    checkpoint = forms.BooleanField(required=False)


class SceneForm(forms.Form):
    name = forms.CharField(max_length=200, required=False, label=_("Name"))


class SceneEditForm(forms.Form):
    """Edit a scene. It carries the values that were shown, so that only what the person changed is written."""

    name = forms.CharField(max_length=200, required=False, show_hidden_initial=True, label=_("Name"))
    recap = forms.CharField(
        required=False, widget=forms.Textarea(attrs={"rows": 3}), show_hidden_initial=True, label=_("Recap")
    )
    visible = forms.BooleanField(required=False, label=_("Show the line in the conversation"), show_hidden_initial=True)
    include = forms.BooleanField(required=False, label=_("Use the recap in the prompt"), show_hidden_initial=True)

    @classmethod
    def from_scene(cls, scene: SceneBreak) -> "SceneEditForm":
        fields = {"name": scene.name, "recap": scene.recap, "visible": scene.is_visible, "include": scene.is_included}
        return cls(initial=fields, auto_id=f"%s-{scene.last.index}")

    def changes(self) -> dict[str, Any]:
        """Return the arguments of ``scenes.scene_change``: the fields that differ from what was shown."""
        data = self.cleaned_data | {
            "name": self.cleaned_data["name"] or None,
            "recap": self.cleaned_data["recap"].replace("\r\n", "\n"),
        }
        return {name: data[name] for name in self.changed_data}


class ParticipantForm(forms.Form):
    name = forms.CharField(max_length=200, label=_("Name of the participant"))


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
