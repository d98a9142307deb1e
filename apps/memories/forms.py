"""Forms of the memories pages."""

from typing import Any
from urllib.parse import urlencode

from django import forms

from apps.memories.models import Memory


class MemoryForm(forms.Form):
    """A person's correction of a memory."""

    text = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), max_length=4000)
    kind = forms.ChoiceField(choices=Memory.Kind.choices)
    importance = forms.TypedChoiceField(coerce=int, choices=[(1, "Low"), (2, "Normal"), (3, "High")])

    @classmethod
    def of(cls, memory: Memory) -> "MemoryForm":
        return cls({"text": memory.text, "kind": memory.kind, "importance": memory.importance})


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
