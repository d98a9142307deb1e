"""Forms of the journal's pages."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.journal.api.serializers import MAX_TEXT_LENGTH, MAX_TITLE_LENGTH


class EntryForm(forms.Form):
    """A person's text of an entry."""

    title = forms.CharField(max_length=MAX_TITLE_LENGTH, required=False, label=_("Title"))
    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 6}), max_length=MAX_TEXT_LENGTH, label=_("Text"))


class SignificantForm(EntryForm):
    """A significant entry."""

    day = forms.DateField(widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), label=_("Day"))
    field_order = ("day", "title", "text")
