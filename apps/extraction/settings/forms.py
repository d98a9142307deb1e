"""Form of the memory settings, generated from the schema. An empty field resets a setting to its inherited value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.translation import gettext

from apps.common.pages.settings_index import IndexedSetting
from apps.common.problems import Invalid
from apps.extraction.settings.inheritance import SettingValue
from apps.extraction.settings.schema import GROUPS, SETTINGS, TYPES, Group, in_digits


class SettingsForm(forms.Form):
    """Form with a field for every setting; ``values`` are the settings before the change."""

    types: Mapping[str, type] = TYPES
    metadata: Mapping[str, Mapping[str, Any]] = SETTINGS

    def __init__(self, values: Mapping[str, SettingValue], data: Any = None) -> None:
        self.values = values
        initial = {name: _initial(setting.value) for name, setting in values.items() if setting.is_own}
        super().__init__(data, initial=initial)
        self.fields |= {
            name: _field(self.types[name], self.metadata[name], setting.inherited) for name, setting in values.items()
        }

    def changes(self) -> dict[str, Any]:
        """Return the changes for ``change_settings``: a value for each filled field, None for each empty one.

        Fields that were not sent, or are as they were shown, are left out: they may have been changed elsewhere since.
        The field named by ``reset`` counts as empty.
        """
        sent = [name for name in self.changed_data if name in self.data]
        changes = {name: _parse_value(self.types[name], self.cleaned_data[name]) for name in sent}
        reset = self.data.get("reset")
        return changes | ({reset: None} if reset in self.fields else {})

    def add_problem(self, problem: Invalid) -> None:
        """Add the errors of a problem to their fields."""
        for error in problem.errors:
            self.add_error(error.pointer.removeprefix("/"), error.detail)

    def groups(self) -> Iterator["GroupRows"]:
        """Yield the groups of settings in the order of the page."""
        for group in GROUPS:
            names = [name for name, metadata in SETTINGS.items() if metadata["group"] is group]
            yield GroupRows(group, [(self[name], self.values[name]) for name in names])


@dataclass(frozen=True)
class GroupRows:
    """Group of settings with a field and the present value of each."""

    group: Group
    rows: list[tuple[forms.BoundField, SettingValue]]

    @property
    def is_open(self) -> bool:
        """Return whether the group is shown unfolded: a setting of it was set here or has errors."""
        return any(setting.is_own or field.errors for field, setting in self.rows)

    @property
    def own(self) -> int:
        """Return how many settings of the group were set here."""
        return sum(setting.is_own for _, setting in self.rows)


def memory_settings() -> Iterator[IndexedSetting]:
    """Yield each memory setting with the place of its field on the user's page."""
    url = reverse("memory-settings:memory")
    for name, metadata in SETTINGS.items():
        yield IndexedSetting(
            metadata["label"], metadata["help"], f"{gettext('Memory')}, {metadata['group'].title}", f"{url}#id_{name}"
        )


def _field(kind: type, metadata: Mapping[str, Any], inherited: Any) -> forms.Field:
    shared = {"label": metadata["label"], "help_text": metadata["help"], "required": False, "show_hidden_initial": True}
    if kind is str and "choices" not in metadata:
        widget = forms.Textarea(attrs={"rows": 3, "placeholder": inherited})
        return forms.CharField(widget=widget, **shared)
    if kind in (bool, str):
        choices = {"on": gettext("On"), "off": gettext("Off")} if kind is bool else metadata["choices"]
        return forms.ChoiceField(
            choices=[
                ("", gettext("%(choice)s (inherited)") % {"choice": choices[_initial(inherited)]}),
                *choices.items(),
            ],
            **shared,
        )
    limits = {"min": metadata["low"], "max": metadata["high"], "placeholder": inherited}
    limits = {name: in_digits(value) for name, value in limits.items()}
    number = forms.NumberInput(attrs=limits | {"step": "1" if kind is int else "0.01"})
    return (forms.IntegerField if kind is int else forms.FloatField)(widget=number, **shared)


def _initial(value: Any) -> Any:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _parse_value(kind: type, value: Any) -> Any:
    if value in ("", None):
        return None
    if kind is str:
        return str(value).replace("\r\n", "\n")  # browsers send the line breaks of text areas so
    return value == "on" if kind is bool else value
