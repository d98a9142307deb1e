"""Filters of the list of memories."""

from typing import Any

import django_filters
from django import forms
from drf_spectacular.utils import extend_schema_field

from apps.chats.models import Chat
from apps.common.documents.strict_json import JSONError, loads, storage_errors
from apps.common.scoping import MAX_NAMESPACE_LENGTH, OWN_NAMESPACE
from apps.memories.api.fields import bound_namespace
from apps.memories.memory_filters import MEMORY_FILTER
from apps.memories.models import Memory
from apps.memories.visibility import MemoryQuerySet


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 2**31 - 1})
class IndexFilter(django_filters.Filter):
    """A message index; unlike NumberFilter it takes no fractions."""

    field_class = forms.IntegerField


class ConditionsField(forms.CharField):
    """Conditions in JSON."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            document = loads(text) if text else None
        except JSONError as error:
            raise forms.ValidationError(str(error)) from None
        if errors := list(storage_errors(document)):
            raise forms.ValidationError(errors[0].detail)
        return MEMORY_FILTER.read(document, ("filter",)) if text else None


@extend_schema_field({"type": "string", "maxLength": 20_000})
class ConditionsFilter(django_filters.Filter):
    """Conditions in JSON, as the search takes them in its body."""

    field_class = ConditionsField

    def filter(self, qs: Any, value: Any) -> Any:
        return qs.filter(value) if value else qs


class MemoryFilterForm(forms.Form):
    """Validate filters that depend on each other."""

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("at") is not None and not self.cleaned_data.get("chat"):
            self.add_error("at", "It needs a chat.")
        return self.cleaned_data


class MemoryFilter(django_filters.FilterSet):
    """Filters of ``GET memories/``. ``at`` asks for the state after the message at that index, and needs a chat."""

    chat = django_filters.UUIDFilter(help_text="What the chat learnt or inherited as a branch, as it stands there.")
    character = django_filters.UUIDFilter()
    # The contract names the tier "journal". Its entries are no memories and have a list of their own.
    tier = django_filters.ChoiceFilter(choices=[*Memory.Tier.choices, ("journal", "Journal")])
    kind = django_filters.ChoiceFilter(choices=Memory.Kind.choices)
    entity = django_filters.CharFilter(method="filter_entity", max_length=200)
    state = django_filters.ChoiceFilter(
        choices=Memory.State.choices,
        help_text="Without one, active and superseded memories: a retired one may say what was deleted.",
    )
    at = IndexFilter(min_value=0, max_value=2**31 - 1)
    namespace = django_filters.CharFilter(
        max_length=MAX_NAMESPACE_LENGTH,
        help_text="Of an end user of your application. Without it, your own, or that of the chat or the character.",
    )
    filter = ConditionsFilter(help_text="Conditions in JSON, as in a search.")
    expired = django_filters.BooleanFilter(help_text="Also those that have expired.")

    class Meta:
        model = Memory
        fields: list[str] = []
        form = MemoryFilterForm

    @extend_schema_field({"type": "string", "maxLength": 200})
    def filter_entity(self, memories: MemoryQuerySet, name: str, value: str) -> MemoryQuerySet:
        """Return memories that name the entity, ignoring case."""
        return memories.filter(entities__name__iexact=value).distinct()

    def filter_queryset(self, queryset: MemoryQuerySet) -> MemoryQuerySet:
        """Apply the filters. ``chat``, ``state`` and ``at`` are one condition: a state in a chat at a message."""
        chat_id, state, at = (self.form.cleaned_data.pop(name) for name in ("chat", "state", "at"))
        expired, namespace = (self.form.cleaned_data.pop(name) for name in ("expired", "namespace"))
        memories: MemoryQuerySet = super().filter_queryset(queryset)
        memories = memories if expired else memories.present()
        namespace = bound_namespace(self.request, namespace or None) or ""
        if namespace or not (chat_id or self.form.cleaned_data["character"]):
            memories = memories.in_namespace(namespace or OWN_NAMESPACE)
        if chat_id is None:
            return memories.filter(state=state) if state else memories.exclude(state=Memory.State.RETIRED)
        chat = Chat.objects.for_owner(self.request.user).filter(pk=chat_id).first()
        if chat is None:
            return memories.none()
        memories = memories.with_inheritance(chat)
        if at is None:
            learnt = memories.learnt_in(chat)
            return learnt.filter(state_here=state) if state else learnt.exclude(state_here=Memory.State.RETIRED)
        if state in ("", Memory.State.ACTIVE):
            return memories.valid_at(chat, at)
        # What was superseded later was active then.
        still_active = Memory.objects.for_owner(chat.owner_id).valid_at(chat, at).values("pk")
        return memories.begun_at(chat, at).filter(state_here=state).exclude(pk__in=still_active)
