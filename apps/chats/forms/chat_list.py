"""Forms of the list of chats: what is shown of it, and what is done with several chats."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.chats.forms.fields import IdsField
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import MAX_FOLDER_LENGTH, MAX_TAG_LENGTH, refuse_comma
from apps.chats.operations.organizing import ChatAction


class SearchForm(forms.Form):
    """The search words in ``?q=``."""

    q = forms.CharField(required=False, max_length=MAX_NAME_LENGTH)

    def words(self) -> str:
        """Return the words, or nothing if they can't be searched for."""
        return str(self.cleaned_data["q"]) if self.is_valid() else ""


class ChatListForm(SearchForm):
    """The words, the tag, the folder and the archive that a list of chats is filtered by.

    An invalid filter is ignored.
    """

    tag = forms.CharField(required=False, max_length=MAX_TAG_LENGTH, label=_("Tag"))
    folder = forms.CharField(required=False, max_length=MAX_FOLDER_LENGTH)
    archived = forms.BooleanField(required=False)
    everywhere = forms.BooleanField(required=False)

    def filters(self) -> dict[str, Any]:
        """Return the arguments of ``queries.list_chats``.

        A search by words finds archived chats too. A search, a tag and the archive look into all folders.
        """
        words = self.words()
        folder = self.cleaned_data.get("folder", "")
        everywhere = words or any(self.cleaned_data.get(name) for name in ("tag", "archived", "everywhere"))
        archived = bool(self.cleaned_data.get("archived"))
        return {
            "words": words,
            "tag": self.cleaned_data.get("tag", ""),
            "folder": folder or (None if everywhere else ""),
            "archived": archived or (None if words else False),
        }


class GalleryForm(SearchForm):
    """The words and the tag that the gallery of a new chat is filtered by, and who is chosen in it for a group."""

    tag = forms.CharField(required=False, max_length=MAX_NAME_LENGTH)
    member = IdsField(required=False)

    def filters(self) -> dict[str, Any]:
        """Return words, tag and the ids of members. An invalid filter is ignored."""
        words = self.words()
        return {
            "words": words,
            "tag": self.cleaned_data.get("tag", ""),
            "members": self.cleaned_data.get("member") or [],
        }


class OrganizeForm(forms.Form):
    """The chats that an action applies to, and the tag that it adds or removes, or the folder of a move."""

    chat = IdsField()
    tag = forms.CharField(max_length=MAX_TAG_LENGTH, required=False, validators=[refuse_comma])
    folder = forms.CharField(max_length=MAX_FOLDER_LENGTH, required=False)

    def __init__(self, data: Any, action: ChatAction) -> None:
        super().__init__(data)
        self.fields["tag"].required = action in (ChatAction.TAG, ChatAction.UNTAG)
