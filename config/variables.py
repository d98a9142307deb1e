"""Reader of environment variables, which keeps the description of each for `docs/configuration.md`."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypedDict, Unpack

import environ


class Group(StrEnum):
    """Sections of `docs/configuration.md` in their order, by their titles."""

    INSTALLATION = "The installation"
    SAFETY = "Secrets and safety"
    LIMITS = "Limits for each user"
    DATABASE = "Database and queue"
    LANGUAGE_MODELS = "Language models"
    MODERATION = "Moderation"
    MAIL = "Mail"
    LOGS = "Logs"
    METRICS = "Metrics"
    EMBEDDED_DATABASE = "The embedded database"


@dataclass(frozen=True)
class Variable:
    """Variable that was read. ``default`` and ``help`` are Markdown; ``default`` is empty without one."""

    name: str
    group: Group
    default: str
    help: str


class _Required(TypedDict):
    group: Group
    help: str


class Description(_Required, total=False):
    """Description of a variable. ``shown`` tells the default in words, if it is generated or depends on others."""

    shown: str


class StrippedFiles(environ.FileAwareMapping):
    """Mapping that strips whitespace from values: files usually end in a line break."""

    def __getitem__(self, key: str) -> str:
        return super().__getitem__(key).strip()


class Environment:
    """Reader of the environment that prefers ``NAME_FILE`` to ``NAME``. ``variables`` are those that were read."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self._values = environ.FileAwareEnv()
        self._values.ENVIRON = StrippedFiles()

    def int(self, name: str, *, default: int, **description: Unpack[Description]) -> int:
        number: int = self._read(self._values.int, name, default, **description)
        return number

    def float(self, name: str, *, default: float, **description: Unpack[Description]) -> float:
        number: float = self._read(self._values.float, name, default, **description)
        return number

    def bool(self, name: str, *, default: bool, **description: Unpack[Description]) -> bool:
        flag: bool = self._read(self._values.bool, name, default, **description)
        return flag

    def list(self, name: str, *, default: list[str], **description: Unpack[Description]) -> list[str]:
        texts: list[str] = self._read(self._values.list, name, default, **description)
        return texts

    def email_url(self, name: str, *, default: str, **description: Unpack[Description]) -> dict[str, Any]:
        """Return the settings of a mail server by the names that Django gives them."""
        settings: dict[str, Any] = self._read(self._values.email_url, name, default, **description)
        return settings

    def _read(self, read: Callable[..., Any], name: str, default: Any, **description: Unpack[Description]) -> Any:
        """Return the value of a variable, and keep its description. Raise ValueError if it has another already."""
        shown = description.get("shown", _in_words(default))
        variable = Variable(name, description["group"], shown, description["help"])
        if self.variables.setdefault(name, variable) != variable:
            raise ValueError(f"{name} is described in two ways.")
        return read(name, default=default)

    # Last, since the name means this method in the annotations of those below it.
    def str(self, name: str, *, default: str = "", **description: Unpack[Description]) -> str:
        text: str = self._read(self._values.str, name, default, **description)
        return text


def _in_words(default: Any) -> str:
    """Return a default in Markdown, or an empty string if there is none."""
    if default in ("", []):
        return ""
    if isinstance(default, bool):
        return "`on`" if default else "`off`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
