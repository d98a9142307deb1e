"""Filters of the list of memories."""

from typing import Any

import django_filters
from django import forms
from drf_spectacular.utils import extend_schema_field

from apps.memories.models import Memory
from apps.memories.querysets import MemoryQuerySet


class IndexFilter(django_filters.Filter):
    """A message index; unlike NumberFilter it takes no fractions."""

    field_class = forms.IntegerField


class MemoryFilterForm(forms.Form):
    """Validate filters that depend on each other."""

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("at") is not None and not self.cleaned_data.get("chat"):
            self.add_error("at", "It needs a chat.")
        return self.cleaned_data


class MemoryFilter(django_filters.FilterSet):
    """Filters of ``GET memories/``. ``at`` asks for the state after the message at that index, and needs a chat."""

    chat = django_filters.UUIDFilter()
    character = django_filters.UUIDFilter()
    # The contract names the tier "journal". No memory is stored in it yet, so it lists nothing.
    tier = django_filters.ChoiceFilter(choices=[*Memory.Tier.choices, ("journal", "Journal")])
    kind = django_filters.ChoiceFilter(choices=Memory.Kind.choices)
    entity = django_filters.CharFilter(method="filter_entity", max_length=200)
    state = django_filters.ChoiceFilter(choices=Memory.State.choices)
    at = IndexFilter(method="filter_at", min_value=0, max_value=2**31 - 1)

    class Meta:
        model = Memory
        fields: list[str] = []
        form = MemoryFilterForm

    @extend_schema_field({"type": "string", "maxLength": 200})
    def filter_entity(self, memories: MemoryQuerySet, name: str, value: str) -> MemoryQuerySet:
        """Return memories that name the entity, ignoring case."""
        return memories.filter(entities__name__iexact=value).distinct()

    @extend_schema_field({"type": "integer", "minimum": 0, "maximum": 2**31 - 1})
    def filter_at(self, memories: MemoryQuerySet, name: str, value: int) -> MemoryQuerySet:
        """Return memories that were valid after the message at the index."""
        return memories.valid_at(value)
