"""Forms of the layers and of entities."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.words import Words
from apps.memories.candidates import LEDGER_FIELDS
from apps.memories.models import Entity, Knowledge, Memory, Relationship


class ArcForm(forms.Form):
    text = forms.CharField(max_length=1000, label=_("Thread"))
    persistent = forms.BooleanField(required=False, label=_("Continue it in other chats with the character"))
    summary = forms.CharField(
        required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}), label=_("Summary")
    )


class SceneForm(forms.Form):
    name = forms.CharField(required=False, max_length=200, label=_("Name"))
    recap = forms.CharField(
        required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}), label=_("Recap")
    )


def _entity_name_field(label: Words, **options: Any) -> forms.CharField:
    """Return a field for the name of an entity. The page suggests known names."""
    return forms.CharField(max_length=200, label=label, widget=forms.TextInput(attrs={"list": "names"}), **options)


class StateForm(forms.Form):
    """A field of an entity in the ledger. Without a value the field is cleared."""

    entity = _entity_name_field(_("Who or what"))
    field = forms.ChoiceField(
        choices=[(kind.title(), [(f"{kind}:{name}", name) for name in names]) for kind, names in LEDGER_FIELDS.items()],
        label=_("Field"),
    )
    value = forms.CharField(
        required=False, max_length=1000, help_text=_("Leave this empty to clear the field."), label=_("Value")
    )

    def operation_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``set_field_by_hand``."""
        kind, _, name = self.cleaned_data["field"].partition(":")
        value = self.cleaned_data["value"].strip() or None
        return {"name": self.cleaned_data["entity"], "kind": kind, "field": name, "value": value}


class KnowledgeForm(forms.Form):
    subject = _entity_name_field(_("Who"))
    kind = forms.ChoiceField(choices=Knowledge.Kind.choices, label=_("How"))
    text = forms.CharField(max_length=1000, label=_("What"))
    target = _entity_name_field(_("From whom it is hidden"), required=False)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("target") and data.get("kind") != Knowledge.Kind.HIDING:
            self.add_error("target", gettext("Only knowledge of the kind “hiding” has a target."))
        return data


class RelationshipForm(forms.Form):
    """A descriptor of how one person relates to another. Without a magnitude it is removed."""

    subject = _entity_name_field(_("Who"))
    target = _entity_name_field(_("To whom"))
    word = forms.CharField(max_length=60, label=_("Word"))
    magnitude = forms.ChoiceField(
        choices=[*Relationship.Magnitude.choices, ("", _("remove it"))],
        required=False,
        initial="medium",
        label=_("Strength"),
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("subject", "").casefold() == data.get("target", " ").casefold():
            self.add_error("target", gettext("Choose somebody else."))
        return data

    def operation_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``set_relationship``."""
        return self.cleaned_data | {"magnitude": self.cleaned_data["magnitude"] or None}


class EntityForm(forms.Form):
    """Name, kind and aliases of an entity."""

    name = forms.CharField(max_length=200, label=_("Name"))
    kind = forms.ChoiceField(choices=Entity.Kind.choices, label=_("Kind"))
    aliases = forms.CharField(
        required=False, max_length=2000, label=_("Also called"), help_text=_("Separate several names with commas.")
    )

    @classmethod
    def of(cls, entity: Entity, data: Any = None) -> "EntityForm":
        initial = {"name": entity.name, "kind": entity.kind, "aliases": ", ".join(entity.aliases)}
        return cls(data, initial=initial)

    def clean_aliases(self) -> list[str]:
        names = [name.strip() for name in self.cleaned_data["aliases"].split(",") if name.strip()]
        if any(len(name) > 200 for name in names):
            raise forms.ValidationError(gettext("A name can have at most 200 characters."))
        return list(dict.fromkeys(names))


class MemoriesField(forms.ModelMultipleChoiceField):
    """Memories, shown by their texts."""

    def label_from_instance(self, obj: Memory) -> str:
        return obj.text


class EntitySplitForm(forms.Form):
    """The name of a new entity, and what it gets of another one."""

    name = forms.CharField(max_length=200, label=_("Name"))
    kind = forms.ChoiceField(choices=Entity.Kind.choices, label=_("Kind"))
    aliases = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple, label=_("Also called"))
    memories = MemoriesField(
        Memory.objects.none(), widget=forms.CheckboxSelectMultiple, label=_("Memories that are about it")
    )

    def __init__(self, entity: Entity, memories: QuerySet[Memory], data: Any = None) -> None:
        super().__init__(data, initial={"kind": entity.kind})
        self.fields["memories"].queryset = memories  # type: ignore[attr-defined]
        self.fields["aliases"].choices = [(alias, alias) for alias in entity.aliases]  # type: ignore[attr-defined]
        if not entity.aliases:
            del self.fields["aliases"]

    def values(self) -> dict[str, Any]:
        """Return arguments for ``split_entity``."""
        return self.cleaned_data | {"memories": [memory.pk for memory in self.cleaned_data["memories"]]}


class TextForm(forms.Form):
    text = forms.CharField(max_length=20_000, widget=forms.Textarea(attrs={"rows": 10}), label=_("Text"))


class ProfileForm(forms.Form):
    character_state = forms.CharField(
        required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 4}), label=_("Character state")
    )
    world_state = forms.CharField(
        required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 4}), label=_("World state")
    )
    relationship_matrix = forms.CharField(
        required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 4}), label=_("Relationship matrix")
    )
