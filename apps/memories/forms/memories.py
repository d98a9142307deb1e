"""Forms of memories: corrections and filters."""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Character
from apps.memories.models import Memory
from apps.memories.operations.memories import MAX_TEXT_LENGTH
from apps.memories.operations.merging import obstacle_to_merge
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.visibility import MemoryQuerySet
from apps.memories.witnesses import learners

IMPORTANCES = [(1, _("Low")), (2, _("Normal")), (3, _("High"))]


class MemoryForm(forms.Form):
    """A person's correction of a memory."""

    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), max_length=MAX_TEXT_LENGTH, label=_("Text"))
    kind = forms.ChoiceField(choices=Memory.Kind.choices, label=_("Kind"))
    importance = forms.TypedChoiceField(coerce=int, choices=IMPORTANCES, label=_("Importance"))

    @classmethod
    def of(cls, memory: Memory) -> "MemoryForm":
        """Return a form filled with a memory."""
        return cls({"text": memory.text, "kind": memory.kind, "importance": memory.importance})


class MemberField(forms.ModelChoiceField):
    """One of the characters of a group."""

    def label_from_instance(self, obj: Character) -> str:
        return obj.name


class NewMemoryForm(MemoryForm):
    """A memory that a person writes. In a group it belongs to one of ``members``."""

    tier = forms.ChoiceField(choices=Memory.Tier.choices, label=_("How long"))
    character = MemberField(Character.objects.none(), label=_("Who knows it"))

    def __init__(self, book: MemoryBook, data: Any = None, *, text: str = "") -> None:
        tier = Memory.Tier.LONG_TERM if book.character or not book.chat else Memory.Tier.SESSION
        initial = {"text": text, "kind": Memory.Kind.FACT, "importance": 2, "tier": tier}
        super().__init__(data, initial=initial, auto_id="new_%s")  # a page also shows forms of memories to correct
        members = [member.pk for member in learners(book.chat) if member] if book.chat else []
        if members:
            self.fields["character"].queryset = Character.objects.for_owner(book.owner_id).filter(pk__in=members)  # type: ignore[attr-defined]
            self.initial["character"] = members[0]
        else:
            del self.fields["character"]
        if book.chat is None:
            del self.fields["tier"]

    def values(self, book: MemoryBook) -> dict[str, Any]:
        """Return fields of a ``NewMemory``. In a character's book, memories are lasting and have no chat."""
        values = {"tier": Memory.Tier.LONG_TERM, "chat": book.chat, "character": book.character} | self.cleaned_data
        return values if values["tier"] == Memory.Tier.LONG_TERM else values | {"character": None}


class ChosenForm(forms.Form):
    """Memories chosen in a list, and what is done with them."""

    MAX_CHOSEN = 200
    CHANGES: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pin": {"pinned": True},
        "unpin": {"pinned": False},
        "hide": {"hidden": True},
        "show": {"hidden": False},
        "importance-3": {"importance": 3},
        "importance-2": {"importance": 2},
        "importance-1": {"importance": 1},
    }
    DONE: ClassVar[Mapping[str, Any]] = {
        "pin": ngettext_lazy("%(count)s memory pinned.", "%(count)s memories pinned.", "count"),
        "unpin": ngettext_lazy("%(count)s memory unpinned.", "%(count)s memories unpinned.", "count"),
        "hide": ngettext_lazy(
            "%(count)s memory hidden from prompts.", "%(count)s memories hidden from prompts.", "count"
        ),
        "show": ngettext_lazy("%(count)s memory shown again.", "%(count)s memories shown again.", "count"),
        "importance-3": ngettext_lazy(
            "%(count)s memory set to high importance.", "%(count)s memories set to high importance.", "count"
        ),
        "importance-2": ngettext_lazy(
            "%(count)s memory set to normal importance.", "%(count)s memories set to normal importance.", "count"
        ),
        "importance-1": ngettext_lazy(
            "%(count)s memory set to low importance.", "%(count)s memories set to low importance.", "count"
        ),
        "forget": ngettext_lazy("%(count)s memory forgotten.", "%(count)s memories forgotten.", "count"),
    }

    action = forms.ChoiceField(choices=[(action, action) for action in (*CHANGES, "forget", "merge")])
    memory = forms.TypedMultipleChoiceField(coerce=UUID)

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.fields["memory"].choices = [(one, one) for one in data.getlist("memory")[: self.MAX_CHOSEN]]  # type: ignore[attr-defined]


class MergeForm(forms.Form):
    """The text that several memories are merged into."""

    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 4}), max_length=MAX_TEXT_LENGTH, label=_("Text"))

    def __init__(self, memories: list[Memory], data: Any = None, **kwargs: Any) -> None:
        self.memories = memories
        super().__init__(data, **kwargs)

    @classmethod
    def of(cls, memories: list[Memory], data: Any) -> "MergeForm":
        texts = dict.fromkeys(memory.text for memory in memories)
        return cls(memories, data, initial={"text": " ".join(texts)})

    @property
    def problem(self) -> str:
        """Return why the memories can't be merged, or an empty string."""
        if len(self.memories) < 2:
            return gettext("Choose at least two active memories.")
        return obstacle_to_merge(self.memories)

    @property
    def is_open(self) -> bool:
        """Return whether the form is shown: also with a problem, once somebody has written a text."""
        return self.is_bound or not self.problem

    def clean(self) -> dict[str, Any]:
        if self.problem:
            raise forms.ValidationError(self.problem)
        return self.cleaned_data


class SplitForm(forms.Form):
    """The texts that a memory is split into, one per line."""

    texts = forms.CharField(widget=forms.Textarea(attrs={"rows": 6}), max_length=20_000, label=_("One memory per line"))

    def clean_texts(self) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data["texts"].splitlines() if line.strip()]
        if not 2 <= len(lines) <= 20:
            raise forms.ValidationError(gettext("Write between two and twenty lines."))
        return lines


class FilterForm(forms.Form):
    """Filters of the list of memories, from the query string. Invalid values are ignored."""

    STATES = [("", _("Current")), (Memory.State.SUPERSEDED, _("Replaced")), (Memory.State.RETIRED, _("Retired"))]

    tier = forms.ChoiceField(choices=[("", _("All")), *Memory.Tier.choices], required=False, label=_("Tier"))
    kind = forms.ChoiceField(choices=[("", _("Any kind")), *Memory.Kind.choices], required=False, label=_("Kind"))
    state = forms.ChoiceField(choices=STATES, required=False, label=_("State"))
    chat = forms.UUIDField(required=False, widget=forms.HiddenInput)
    q = forms.CharField(required=False, max_length=500, label=_("Words"))

    def values(self) -> dict[str, Any]:
        """Return the filters that are set."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    def apply(self, memories: MemoryQuerySet) -> MemoryQuerySet:
        """Narrow memories to those that match the filters."""
        chosen = self.values()
        words = chosen.pop("q", "")
        chosen.setdefault("state", Memory.State.ACTIVE)
        memories = memories.present().filter(**chosen)
        return memories.filter(text__icontains=words) if words else memories

    def query(self, **changes: Any) -> str:
        """Return the filters as a query string, with some of them changed."""
        return urlencode({name: value for name, value in (self.values() | changes).items() if value})

    @property
    def tabs(self) -> list[dict[str, Any]]:
        """Return a tab for each tier: its label, its query string and whether it is selected."""
        chosen = self.values().get("tier", "")
        return [
            {"label": label, "query": self.query(tier=tier), "chosen": tier == chosen}
            for tier, label in self.fields["tier"].choices  # type: ignore[attr-defined]
        ]


class TimelineForm(forms.Form):
    """Filters of a timeline, from the query string. Invalid values are ignored."""

    STATES = [
        ("", _("Active")),
        (Memory.State.SUPERSEDED, _("Replaced")),
        (Memory.State.RETIRED, _("Retired")),
        ("all", _("Everything")),
    ]
    MARKS = [("", _("Any")), ("pinned", _("Pinned")), ("hidden", _("Hidden")), ("edited", _("Changed by you"))]

    q = forms.CharField(required=False, max_length=500, label=_("Words"))
    about = forms.ChoiceField(required=False, label=_("About"))
    kind = forms.ChoiceField(choices=[("", _("Any kind")), *Memory.Kind.choices], required=False, label=_("Kind"))
    tier = forms.ChoiceField(choices=[("", _("Both")), *Memory.Tier.choices], required=False, label=_("Tier"))
    state = forms.ChoiceField(choices=STATES, required=False, label=_("State"))
    mark = forms.ChoiceField(choices=MARKS, required=False, label=_("Mark"))

    def __init__(self, data: Any, *, entities: Any) -> None:
        super().__init__(data)
        self.fields["about"].choices = [  # type: ignore[attr-defined]
            ("", gettext("Anything")),
            *((str(entity.pk), entity.name) for entity in entities),
        ]
        self.is_valid()

    @property
    def chosen(self) -> dict[str, str]:
        """Return the filters that are set."""
        return {name: value for name, value in self.cleaned_data.items() if value}

    @property
    def includes_inactive(self) -> bool:
        """Return whether memories of other states than active are included."""
        return "state" in self.chosen

    def apply(self, memories: MemoryQuerySet) -> MemoryQuerySet:
        """Narrow memories to those that match the filters."""
        chosen = self.chosen
        if chosen.get("state", "all") != "all":
            memories = memories.filter(state=chosen["state"])
        if "mark" in chosen:
            marks = {"pinned": {"pinned": True}, "hidden": {"hidden": True}}
            mark = marks.get(chosen["mark"])
            memories = memories.filter(**mark) if mark else memories.exclude(edited_by="")
        if "about" in chosen:
            memories = memories.filter(entities=chosen["about"])
        memories = memories.filter(**{name: chosen[name] for name in ("kind", "tier") if name in chosen})
        return memories.filter(text__icontains=chosen["q"]) if "q" in chosen else memories
