"""Declare settings: type, default, limits or choices, and how pages and documents call and explain them.

A document of settings holds only those that were changed, by their names.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args, get_type_hints

from django.utils.translation import gettext

from apps.common.problems import FieldError, Invalid
from apps.common.words import Words


@dataclass(frozen=True, eq=False)  # compared by identity: a title differs by the reader's language
class Group:
    """Group of settings on the settings pages, folded unless one of its settings was set."""

    title: Words
    about: Words = ""


@dataclass(frozen=True)
class Setting:
    """A setting of type bool, int, float or str, which is its ``kind``.

    Numbers have limits. A str has ``choices``, labels by value, or is a text; ``check`` returns what is wrong with a
    text, or None. ``large`` is the default for large models, if they have another.
    """

    name: str
    kind: type
    default: Any
    group: Group
    label: Words
    help: Words = ""
    low: float = -math.inf
    high: float = math.inf
    choices: Mapping[str, Words] | None = None
    check: Callable[[str], str | None] | None = None
    large: Any = None

    def default_for(self, profile: str) -> Any:
        """Return the default for models of a hardware profile: "A", small ones, or "B", large ones."""
        return self.default if profile == "A" or self.large is None else self.large

    def error(self, value: Any) -> str | None:
        """Return what is wrong with a value, or None."""
        if self.kind is bool:
            return None if isinstance(value, bool) else gettext("It must be true or false.")
        if self.choices is not None:
            # A list, since what is sent may be unhashable.
            if value in list(self.choices):
                return None
            return gettext("It must be one of %(value)s.") % {"value": ", ".join(self.choices)}
        return self._text_error(value) if self.kind is str else self._number_error(value)

    def _text_error(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return gettext("It must be a text.")
        return self.check(value) if self.check else None

    def _number_error(self, value: Any) -> str | None:
        # A bool is an int in Python.
        if isinstance(value, bool) or not isinstance(value, int if self.kind is int else int | float):
            return gettext("It must be a whole number.") if self.kind is int else gettext("It must be a number.")
        if not self.low <= value <= self.high:
            return gettext("It must be between %(low)s and %(high)s.") % {
                "low": in_digits(self.low),
                "high": in_digits(self.high),
            }
        return None


def setting(default: Any, group: Group, label: Words, help: Words = "", **options: Any) -> Any:
    """Declare a setting as the field of a dataclass, which gives it its name and type. ``options`` are of Setting."""
    return field(default=default, metadata={"group": group, "label": label, "help": help, **options})


def declared(dataclass_type: type) -> list[Setting]:
    """Return the settings that the fields of a dataclass declare."""
    hints = get_type_hints(dataclass_type)
    kinds = {name: (get_args(hint) or (hint,))[0] for name, hint in hints.items()}  # int of int | None
    return [
        Setting(each.name, kinds[each.name], each.default, **each.metadata)
        for each in fields(dataclass_type)
        if each.metadata
    ]


class Schema(Mapping[str, Setting]):
    """All settings of a kind by name. ``version`` is stored with their documents.

    ``groups`` has the names of the settings of each group, in the order of their declaration.
    """

    def __init__(self, settings: Iterable[Setting], version: int = 1) -> None:
        self._settings = {setting.name: setting for setting in settings}
        self.version = version
        self.groups: dict[Group, list[str]] = {}
        for setting in self._settings.values():
            self.groups.setdefault(setting.group, []).append(setting.name)

    def __getitem__(self, name: str) -> Setting:
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)

    def defaults(self, profile: str = "A") -> dict[str, Any]:
        """Return the defaults for a hardware profile."""
        return {name: setting.default_for(profile) for name, setting in self.items()}

    def known(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a document, without those that another version has stored."""
        return {name: value for name, value in document.items() if name in self._settings}

    def merged(self, documents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the settings of ``documents``, the most general first, each of which overrides those before."""
        return {name: value for document in documents for name, value in self.known(document).items()}

    def validate(self, document: Mapping[str, Any]) -> None:
        """Raise Invalid, with a pointer to each unknown setting and to each wrong value, if there are any."""
        reasons = {name: self._error(name, value) for name, value in document.items()}
        errors = [FieldError(f"/{name}", reason) for name, reason in reasons.items() if reason is not None]
        if errors:
            raise Invalid(errors[0].detail, errors=errors)

    def _error(self, name: str, value: Any) -> str | None:
        return self[name].error(value) if name in self else gettext("There is no such setting.")


def in_digits(value: float) -> str:
    """Return a value or a limit of a setting without an exponent: a million as "1000000"."""
    return f"{value:.15g}"
