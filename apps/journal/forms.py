"""Forms of the journal's pages."""

from django import forms

from apps.journal.api.serializers import MAX_TEXT_LENGTH, MAX_TITLE_LENGTH


class EntryForm(forms.Form):
    """A person's text of an entry."""

    title = forms.CharField(max_length=MAX_TITLE_LENGTH, required=False)
    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 6}), max_length=MAX_TEXT_LENGTH)


class SignificantForm(EntryForm):
    """A significant entry."""

    day = forms.DateField(widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"))
    field_order = ("day", "title", "text")
