"""Forms of the character pages."""

from typing import Any, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Case, When
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.images.pictures import MAX_PICTURE_BYTES, BrokenPicture, media_type_of
from apps.chats.images.png import BrokenPNG
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import Character
from apps.common.words import Words

TEXT_FIELDS = (
    *("name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example"),
    *("system_prompt", "post_history_instructions", "creator_notes", "creator", "character_version"),
)
LIST_FIELDS = ("alternate_greetings", "group_only_greetings", "tags")


class CharacterField(forms.ModelChoiceField):
    """One of the user's characters, which may have the same name."""

    def label_from_instance(self, obj: Character) -> str:
        return gettext("%(name)s, %(value)s chats, created %(created_at)s") % {
            "name": obj.name,
            "value": obj.chats.count(),
            "created_at": f"{obj.created_at:%Y-%m-%d}",
        }


class MergeForm(forms.Form):
    """The character that another one is merged into, and the typed name of the one that goes."""

    into = CharacterField(queryset=Character.objects.none(), label=_("Keep"), empty_label=None)
    name = forms.CharField(
        max_length=MAX_NAME_LENGTH, label=_("To confirm, type the name of the one that goes"), strip=True
    )

    def __init__(self, character: Character, data: Any = None) -> None:
        super().__init__(data)
        self.character = character
        others = Character.objects.for_owner(character.owner_id).in_namespace(character.namespace)
        others = others.exclude(pk=character.pk)
        into = cast(CharacterField, self.fields["into"])
        # Its namesakes first: they are what is merged as a rule.
        into.queryset = others.order_by(Case(When(name=character.name, then=0), default=1), "name", "pk")

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != self.character.name.strip():
            raise forms.ValidationError(gettext("This is not its name."))
        return name


class TextListWidget(forms.Widget):
    """A text area for each text of a list, and an empty one to add another."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        return list(data.getlist(name))

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        texts = [text for text in value or [] if text] + [""]
        label = str(self.attrs.get("label", ""))
        rows = ((name, f"{label} {number}", text) for number, text in enumerate(texts, start=1))
        return format_html_join("", '<textarea name="{}" aria-label="{}" rows="3">\n{}</textarea>', rows)


class TextListField(forms.Field):
    """A list of texts, without empty ones."""

    def __init__(self, label: Words, **kwargs: Any) -> None:
        super().__init__(label=label, required=False, widget=TextListWidget({"label": label}), **kwargs)

    def to_python(self, value: Any) -> list[str]:
        return [_with_unix_newlines(text) for text in value or [] if text.strip()]


class CommaSeparatedField(forms.CharField):
    """Texts, separated by commas."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        return [tag.strip() for tag in super().clean(value).split(",") if tag.strip()]


def _text_area(label: Words, help_text: Words = "") -> forms.CharField:
    return forms.CharField(label=label, required=False, strip=False, widget=forms.Textarea, help_text=help_text)


class CharacterForm(forms.Form):
    """The fields of a character that a user edits."""

    name = forms.CharField(max_length=MAX_NAME_LENGTH, label=_("Name"))
    nickname = forms.CharField(
        required=False, help_text=_("What the character is called in the story, if not the name."), label=_("Nickname")
    )
    picture = forms.FileField(required=False, help_text=_("PNG, JPEG or WebP."), label=_("Picture"))
    description = _text_area(_("Description"))
    personality = _text_area(_("Personality"))
    scenario = _text_area(_("Scenario"))
    first_mes = _text_area(_("First message"), _("How a chat opens."))
    alternate_greetings = TextListField(
        _("Other greetings"),
        help_text=_("Other ways to open a chat. Clear a text to remove it."),
    )
    group_only_greetings = TextListField(_("Group greetings"))
    mes_example = _text_area(_("Example dialogue"))
    system_prompt = _text_area(_("System prompt"))
    post_history_instructions = _text_area(_("Post-history instructions"))
    tags = CommaSeparatedField(required=False, help_text=_("Separated by commas."), label=_("Tags"))
    creator = forms.CharField(required=False, label=_("Creator"))
    character_version = forms.CharField(required=False, label=_("Version"))
    creator_notes = _text_area(_("Creator's notes"))

    @classmethod
    def from_character(cls, character: Character) -> "CharacterForm":
        return cls(initial={name: getattr(character, name) for name in (*TEXT_FIELDS, *LIST_FIELDS)})

    def clean_picture(self) -> tuple[bytes, str] | None:
        """Return the picture and its media type, or None."""
        file: UploadedFile | None = self.cleaned_data["picture"]
        if file is None:
            return None
        if (file.size or 0) > MAX_PICTURE_BYTES:
            raise forms.ValidationError(gettext("The picture is too large."))
        content = file.read()
        try:
            return content, media_type_of(content)
        except (BrokenPicture, BrokenPNG) as error:
            raise forms.ValidationError(str(error)) from None

    def character_fields(self) -> dict[str, Any]:
        """Return the fields of a character, with line ends as they are stored (LF)."""
        texts = {name: _with_unix_newlines(self.cleaned_data[name]) for name in TEXT_FIELDS}
        return texts | {name: self.cleaned_data[name] for name in LIST_FIELDS}

    def changes(self, character: Character) -> dict[str, Any]:
        """Return the fields that differ from the stored ones by more than line ends."""
        values = self.character_fields()
        return {name: value for name, value in values.items() if value != _as_submitted(getattr(character, name))}


def _as_submitted(value: Any) -> Any:
    """Return a stored value in the form in which an unedited form submits it."""
    if isinstance(value, str):
        return _with_unix_newlines(value)
    return [_with_unix_newlines(text) for text in value if text.strip()] if isinstance(value, list) else value


def _with_unix_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")
