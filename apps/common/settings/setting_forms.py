"""Form with a field for every setting of a kind. An empty field resets a setting to its inherited value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext

from apps.common.problems import Invalid
from apps.common.settings.declarations import Group, Schema, Setting, in_digits
from apps.common.settings.inheritance import SettingValue


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


class SettingsForm(forms.Form):
    """Form of the settings that a subclass names; ``values`` are those before the change."""

    settings: ClassVar[Schema]

    def __init__(self, values: Mapping[str, SettingValue], data: Any = None) -> None:
        self.values = values
        initial = {name: _initial(value.value) for name, value in values.items() if value.is_own}
        super().__init__(data, initial=initial)
        self.fields |= {name: _field(self.settings[name], value.inherited) for name, value in values.items()}

    def changes(self) -> dict[str, Any]:
        """Return the changes to store: a value for each filled field, None for each empty one.

        Fields that were not sent, or are as they were shown, are left out: they may have been changed elsewhere since.
        The field named by ``reset`` counts as empty.
        """
        sent = [name for name in self.changed_data if name in self.data]
        changes = {name: _parse_value(self.settings[name].kind, self.cleaned_data[name]) for name in sent}
        reset = self.data.get("reset")
        return changes | ({reset: None} if reset in self.fields else {})

    def add_problem(self, problem: Invalid) -> None:
        """Add the errors of a problem to their fields."""
        for error in problem.errors:
            self.add_error(error.pointer.removeprefix("/"), error.detail)

    def group(self, group: Group) -> GroupRows:
        """Return the fields of a group of settings with their present values."""
        return GroupRows(group, [(self[name], self.values[name]) for name in self.settings.groups[group]])

    def groups(self) -> Iterator[GroupRows]:
        """Yield the groups of settings in the order of their declaration."""
        return map(self.group, self.settings.groups)


def _field(setting: Setting, inherited: Any) -> forms.Field:
    shared: dict[str, Any] = {
        "label": setting.label,
        "help_text": setting.help,
        "required": False,
        "show_hidden_initial": True,
    }
    choices = {"on": gettext("On"), "off": gettext("Off")} if setting.kind is bool else setting.choices
    if choices is not None:
        inherit = gettext("%(choice)s (inherited)") % {"choice": choices[_initial(inherited)]}
        return forms.ChoiceField(choices=[("", inherit), *choices.items()], **shared)
    if setting.kind is str:
        widget = forms.Textarea(attrs={"rows": 3, "placeholder": inherited})
        return forms.CharField(widget=widget, **shared)
    limits = {"min": setting.low, "max": setting.high, "placeholder": inherited}
    limits = {name: in_digits(value) for name, value in limits.items()}
    number = forms.NumberInput(attrs=limits | {"step": "1" if setting.kind is int else "0.01"})
    return (forms.IntegerField if setting.kind is int else forms.FloatField)(widget=number, **shared)


def _initial(value: Any) -> Any:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _parse_value(kind: type, value: Any) -> Any:
    if value in ("", None):
        return None
    if kind is str:
        return str(value).replace("\r\n", "\n")  # browsers send the line breaks of text areas so
    return value == "on" if kind is bool else value
