"""Form of the persona pages."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.chats.forms.fields import TextField
from apps.chats.images.encoding import MAX_UPLOAD_BYTES, make_avatar
from apps.chats.images.pictures import BrokenPicture
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import Persona


class NameForm(forms.Form):
    """What a new user is called in stories."""

    name = forms.CharField(max_length=MAX_NAME_LENGTH, label=_("Your name in stories"))


def first_name_form(user: User, *, has_personas: bool) -> NameForm | None:
    """Return the form for the first persona of a user who has none, filled with the name of the account."""
    return None if has_personas else NameForm(initial={"name": user.name})


class PersonaForm(forms.Form):
    name = forms.CharField(
        max_length=MAX_NAME_LENGTH,
        help_text=_("What you are called in the story, and {{user}} in cards."),
        label=_("Name"),
    )
    description = TextField(required=False, help_text=_("Who you are in the story."), label=_("Description"))
    avatar = forms.FileField(
        required=False,
        label=_("Picture"),
        help_text=_("PNG, JPEG, WebP or GIF, up to 10 MB. It is stored small, and without the data of the camera."),
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp,image/gif"}),
    )
    remove_avatar = forms.BooleanField(required=False, label=_("Remove the picture"))
    is_default = forms.BooleanField(required=False, label=_("Use in new chats"))

    def __init__(self, data: Any = None, files: Any = None, *, persona: Persona | None = None) -> None:
        initial = {name: getattr(persona, name) for name in ("name", "description", "is_default")} if persona else {}
        super().__init__(data, files, initial=initial)
        if getattr(persona, "avatar", None) is None:
            del self.fields["remove_avatar"]

    def clean_avatar(self) -> bytes | None:
        """Return the picture, or None."""
        file: UploadedFile | None = self.cleaned_data["avatar"]
        if file is None:
            return None
        if (file.size or 0) > MAX_UPLOAD_BYTES:
            raise forms.ValidationError(
                gettext("The picture is larger than %(number)s MiB.") % {"number": MAX_UPLOAD_BYTES // 2**20}
            )
        content = file.read()
        try:
            make_avatar(content)
        except BrokenPicture as error:
            raise forms.ValidationError(str(error)) from None
        return content

    def persona_fields(self) -> dict[str, Any]:
        """Return the columns of a persona."""
        return {name: self.cleaned_data[name] for name in ("name", "description", "is_default")}
