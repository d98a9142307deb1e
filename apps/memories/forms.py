"""Forms of the memories pages."""

from typing import Any
from urllib.parse import urlencode

from django import forms

from apps.llm.models import Connection
from apps.memories.candidates import LEDGER_FIELDS
from apps.memories.models import Entity, Knowledge, Memory, Relationship


class MemoryForm(forms.Form):
    """A person's correction of a memory."""

    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), max_length=4000)
    kind = forms.ChoiceField(choices=Memory.Kind.choices)
    importance = forms.TypedChoiceField(coerce=int, choices=[(1, "Low"), (2, "Normal"), (3, "High")])

    @classmethod
    def of(cls, memory: Memory) -> "MemoryForm":
        return cls({"text": memory.text, "kind": memory.kind, "importance": memory.importance})


class MergeForm(forms.Form):
    """The text that takes the place of several memories."""

    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 4}), max_length=4000)

    def __init__(self, memories: list[Memory], data: Any = None, **kwargs: Any) -> None:
        self.memories = memories
        super().__init__(data, **kwargs)

    @classmethod
    def of(cls, memories: list[Memory], data: Any) -> "MergeForm":
        return cls(memories, data, initial={"text": " ".join(memory.text for memory in memories)})

    @property
    def why_not(self) -> str:
        """Why the memories can't be merged; empty where they can."""
        if len(self.memories) < 2:
            return "Choose at least two memories that stand."
        if len({(memory.tier, memory.character_id, tuple(memory.witnessed_by)) for memory in self.memories}) > 1:
            return "They must be of one tier and one character, witnessed by the same people."
        return ""

    @property
    def can_be_merged(self) -> bool:
        return not self.why_not

    def clean(self) -> dict[str, Any]:
        if self.why_not:
            raise forms.ValidationError(self.why_not)
        return self.cleaned_data


class SplitForm(forms.Form):
    """Texts, a line each."""

    texts = forms.CharField(widget=forms.Textarea(attrs={"rows": 6}), max_length=20_000, label="One memory a line")

    def clean_texts(self) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data["texts"].splitlines() if line.strip()]
        if not 2 <= len(lines) <= 20:
            raise forms.ValidationError("Write between two and twenty lines.")
        return lines


class ArcForm(forms.Form):
    text = forms.CharField(max_length=1000, label="Thread")
    persistent = forms.BooleanField(required=False, label="It goes on in other chats with the character")
    summary = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))


class SceneForm(forms.Form):
    name = forms.CharField(required=False, max_length=200)
    recap = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))


def _name(label: str, **options: Any) -> forms.CharField:
    """Somebody's or something's name; the page offers those it knows."""
    return forms.CharField(max_length=200, label=label, widget=forms.TextInput(attrs={"list": "names"}), **options)


class StateForm(forms.Form):
    """A field of somebody or something; without a value, it is cleared."""

    entity = _name("Who or what")
    field = forms.ChoiceField(
        choices=[(kind.title(), [(f"{kind}:{name}", name) for name in names]) for kind, names in LEDGER_FIELDS.items()]
    )
    value = forms.CharField(required=False, max_length=1000, help_text="Leave it empty to clear the field.")

    def change(self) -> dict[str, Any]:
        """What ``set_state`` takes."""
        kind, _, name = self.cleaned_data["field"].partition(":")
        value = self.cleaned_data["value"].strip() or None
        return {"name": self.cleaned_data["entity"], "kind": kind, "field": name, "value": value}


class KnowledgeForm(forms.Form):
    subject = _name("Who")
    kind = forms.ChoiceField(choices=Knowledge.Kind.choices, label="How")
    text = forms.CharField(max_length=1000, label="What")
    target = _name("From whom it is hidden", required=False)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("target") and data.get("kind") != Knowledge.Kind.HIDING:
            self.add_error("target", "Only what is hidden is hidden from somebody.")
        return data


class RelationshipForm(forms.Form):
    """A word for how one stands to another; "none" takes it away."""

    subject = _name("Who")
    target = _name("To whom")
    word = forms.CharField(max_length=60)
    magnitude = forms.ChoiceField(
        choices=[*Relationship.Magnitude.choices, ("", "no longer")], required=False, initial="medium", label="How much"
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("subject", "").casefold() == data.get("target", " ").casefold():
            self.add_error("target", "It must be somebody else.")
        return data

    def change(self) -> dict[str, Any]:
        """What ``set_relationship`` takes."""
        return self.cleaned_data | {"magnitude": self.cleaned_data["magnitude"] or None}


class EntityForm(forms.Form):
    """Name, kind and aliases of somebody or something."""

    name = forms.CharField(max_length=200)
    kind = forms.ChoiceField(choices=Entity.Kind.choices)
    aliases = forms.CharField(
        required=False, max_length=2000, label="Also called", help_text="Several, with commas between them."
    )

    @classmethod
    def of(cls, entity: Entity, data: Any = None) -> "EntityForm":
        known = {"name": entity.name, "kind": entity.kind, "aliases": ", ".join(entity.aliases)}
        return cls(data, initial=known)

    def clean_aliases(self) -> list[str]:
        names = [name.strip() for name in self.cleaned_data["aliases"].split(",") if name.strip()]
        if any(len(name) > 200 for name in names):
            raise forms.ValidationError("A name has up to 200 characters.")
        return list(dict.fromkeys(names))


class TextForm(forms.Form):
    text = forms.CharField(max_length=20_000, widget=forms.Textarea(attrs={"rows": 10}))


class ProfileForm(forms.Form):
    character_state = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 4}))
    world_state = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 4}))
    relationship_matrix = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 4}))


class FilterForm(forms.Form):
    """What the memory book shows. Its fields stand in the URL; a value that is none of them filters nothing."""

    STATES = [("", "Current"), ("superseded", "Replaced"), ("retired", "Retired")]

    tier = forms.ChoiceField(choices=[("", "All"), *Memory.Tier.choices], required=False)
    kind = forms.ChoiceField(choices=[("", "Any kind"), *Memory.Kind.choices], required=False)
    state = forms.ChoiceField(choices=STATES, required=False)
    chat = forms.UUIDField(required=False, widget=forms.HiddenInput)
    q = forms.CharField(required=False, max_length=500, label="Words")

    def values(self) -> dict[str, Any]:
        """The filters that are set."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    def apply(self, memories: Any) -> Any:
        """Narrow a queryset of one owner's memories."""
        chosen = self.values()
        words = chosen.pop("q", "")
        chosen.setdefault("state", Memory.State.ACTIVE)
        memories = memories.present().filter(**chosen)
        return memories.filter(text__icontains=words) if words else memories

    def query(self, **changes: Any) -> str:
        """The filters as a query string, with some of them changed."""
        return urlencode({name: value for name, value in (self.values() | changes).items() if value})

    @property
    def tabs(self) -> list[dict[str, Any]]:
        """A tab for each tier: its label, its query string, whether it is chosen."""
        chosen = self.values().get("tier", "")
        return [
            {"label": label, "query": self.query(tier=tier), "chosen": tier == chosen}
            for tier, label in self.fields["tier"].choices  # type: ignore[attr-defined]
        ]


class ModelTestForm(forms.Form):
    """Which model is tested."""

    connection = forms.ModelChoiceField(
        Connection.objects.none(), required=False, label="Model", empty_label="The built-in extractor"
    )

    def __init__(self, connections: Any, data: Any = None) -> None:
        super().__init__(data, initial={"connection": connections.filter(for_generation=True).first()})
        field = self.fields["connection"]
        field.queryset = connections  # type: ignore[attr-defined]
        field.label_from_instance = lambda connection: f"{connection.model} · {connection.name}"  # type: ignore[attr-defined]


class TimelineForm(forms.Form):
    """What a timeline shows. Its fields stand in the URL; a value that is none of them filters nothing."""

    STATES = [("", "What holds"), ("superseded", "Replaced"), ("retired", "Retired"), ("all", "Everything")]
    MARKS = [("", "Any"), ("pinned", "Pinned"), ("hidden", "Hidden"), ("edited", "Changed by you")]

    q = forms.CharField(required=False, max_length=500, label="Words")
    about = forms.ChoiceField(required=False)
    kind = forms.ChoiceField(choices=[("", "Any kind"), *Memory.Kind.choices], required=False)
    tier = forms.ChoiceField(choices=[("", "Both"), *Memory.Tier.choices], required=False)
    state = forms.ChoiceField(choices=STATES, required=False)
    mark = forms.ChoiceField(choices=MARKS, required=False)

    def __init__(self, data: Any, *, entities: Any) -> None:
        super().__init__(data)
        self.fields["about"].choices = [  # type: ignore[attr-defined]
            ("", "Anything"),
            *((str(entity.pk), entity.name) for entity in entities),
        ]
        self.is_valid()

    @property
    def chosen(self) -> dict[str, str]:
        """The filters that are set."""
        return {name: value for name, value in self.cleaned_data.items() if value}

    @property
    def every_state(self) -> bool:
        """Whether more than what holds is asked for."""
        return "state" in self.chosen

    def apply(self, memories: Any) -> Any:
        """Narrow a queryset of memories."""
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
