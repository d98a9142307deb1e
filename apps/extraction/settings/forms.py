"""The form of the memory settings, made from the settings themselves. An empty field takes a setting back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from apps.common.problems import Invalid
from apps.extraction.settings.groups import CHOICES, GROUPS, KINDS, Group, Holding, in_words
from apps.extraction.settings.schema import Settings


class SettingsForm(forms.Form):
    """A field for every setting; ``holding`` tells what holds at the place that the form is for."""

    def __init__(self, holding: Mapping[str, Holding], data: Any = None) -> None:
        self.holding = holding
        initial = {name: _shown(one.value) for name, one in holding.items() if one.is_own}
        super().__init__(data, initial=initial)
        for group in GROUPS:
            for name, label in group.labels.items():
                self.fields[name] = _field(name, label, holding[name])

    def changes(self) -> dict[str, Any]:
        """What ``change_settings`` takes: a value for each field that is filled in, null for one that is empty.

        A field that wasn't sent is left alone; the one that ``take_back`` names counts as empty.
        """
        sent = {name: _value(name, self.cleaned_data[name]) for name in self.fields if name in self.data}
        back = self.data.get("take_back")
        return sent | ({back: None} if back in self.fields else {})

    def add_problem(self, problem: Invalid) -> None:
        """Show each error beside its field."""
        for error in problem.errors:
            self.add_error(error.pointer.removeprefix("/"), error.detail)

    def groups(self) -> Iterator["ShownGroup"]:
        for group in GROUPS:
            rows = [ShownSetting(self[name], self.holding[name]) for name in group.labels]
            yield ShownGroup(group, rows)


@dataclass(frozen=True)
class ShownSetting:
    field: forms.BoundField
    holding: Holding


@dataclass(frozen=True)
class ShownGroup:
    group: Group
    rows: list[ShownSetting]

    @property
    def is_open(self) -> bool:
        """Nothing that was set here, or is wrong, is folded away."""
        return any(row.holding.is_own or row.field.errors for row in self.rows)


def _field(name: str, label: str, holding: Holding) -> forms.Field:
    metadata = Settings.__dataclass_fields__[name].metadata
    shared = {"label": label, "help_text": metadata["help"], "required": False}
    inherited = in_words(name, holding.inherited)
    if KINDS[name] is bool:
        options = [("", f"{inherited} (as given)"), ("on", "On"), ("off", "Off")]
        return forms.ChoiceField(choices=options, **shared)
    if KINDS[name] is str:
        return forms.ChoiceField(choices=[("", f"{inherited} (as given)"), *CHOICES[name].items()], **shared)
    kind = forms.IntegerField if KINDS[name] is int else forms.FloatField
    limits = {"min": f"{metadata['low']:g}", "max": f"{metadata['high']:g}", "placeholder": f"{holding.inherited:g}"}
    step = "1" if KINDS[name] is int else "0.01"
    return kind(widget=forms.NumberInput(attrs={**limits, "step": step}), **shared)


def _shown(value: Any) -> Any:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _value(name: str, given: Any) -> Any:
    if given in ("", None):
        return None
    return given == "on" if KINDS[name] is bool else given
