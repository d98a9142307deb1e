"""The form of the search page."""

from operator import attrgetter
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Character, Chat
from apps.common.scoping import Owner
from apps.memories.models import Memory
from apps.search.scope import JOURNAL, MESSAGES
from apps.search.service import ALL_TIERS, SearchQuery


class SearchForm(forms.Form):
    """Words to search for and filters, from the query string. Invalid filters are shown and left out."""

    MAX_LISTED = 200  # chats and characters, the last active or first by name

    q = forms.CharField(
        required=False,
        max_length=500,
        label=_("What are you looking for?"),
        widget=forms.SearchInput(attrs={"data-key": "/", "autofocus": True}),
    )
    tier = forms.ChoiceField(
        choices=[("", _("Everything")), *Memory.Tier.choices, (MESSAGES, _("Messages")), (JOURNAL, _("Journal"))],
        required=False,
        label=_("Where"),
    )
    kind = forms.ChoiceField(choices=[("", _("Any kind")), *Memory.Kind.choices], required=False, label=_("Kind"))
    character = forms.ModelChoiceField(
        Character.objects.none(), required=False, empty_label=_("Any character"), label=_("Character")
    )
    chat = forms.ModelChoiceField(Chat.objects.none(), required=False, empty_label=_("Any chat"), label=_("Chat"))
    since = forms.DateField(required=False, label=_("From"), widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, data: QueryDict, owner: Owner) -> None:
        # Links and programs use the names of the API.
        renamed = {"since": data.get("from", ""), "until": data.get("to", "")}
        super().__init__(data.dict() | {name: value for name, value in renamed.items() if value})
        for name, rows, label in (
            ("character", Character.objects.for_owner(owner).own().order_by("name"), "name"),
            ("chat", Chat.objects.for_owner(owner).own().order_by("-last_active", "-pk"), "title"),
        ):
            field: Any = self.fields[name]
            field.queryset = rows
            field.label_from_instance = attrgetter(label)
            listed = rows.filter(pk__in=list(rows.values_list("pk", flat=True)[: self.MAX_LISTED]))
            field.widget.choices = [("", field.empty_label), *((row.pk, getattr(row, label)) for row in listed)]
        self.is_valid()

    @property
    def filters(self) -> dict[str, Any]:
        """Return the filters that are set."""
        return {name: value for name, value in self.cleaned_data.items() if value and name != "q"}

    def query(self, limit: int) -> SearchQuery | None:
        """Return the query, or None without words."""
        words, chosen = self.cleaned_data.get("q", ""), self.filters
        if not words:
            return None
        return SearchQuery(
            words,
            limit=limit,
            tiers=(chosen["tier"],) if "tier" in chosen else ALL_TIERS,
            kind=chosen.get("kind"),
            character=chosen["character"].pk if "character" in chosen else None,
            chat=chosen["chat"].pk if "chat" in chosen else None,
            since=chosen.get("since"),
            until=chosen.get("until"),
        )
