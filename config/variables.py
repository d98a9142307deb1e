"""Reader of environment variables, which keeps the description of each for `docs/configuration.md`."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")
SMTP_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
_HOST = re.compile(r"\*|\.?[\w-]+(\.[\w-]+)*|\[[0-9A-Fa-f:.]+\]")
_QUOTES = ("'", '"')
ON, OFF = {"1", "on", "true", "yes", "y"}, {"", "0", "off", "false", "no", "n"}


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
    """Reader of the environment that prefers ``NAME_FILE`` to ``NAME``. ``variables`` are those that were read.

    An empty number or choice is the default, as a line of a Compose file leaves it; an empty flag is off. All methods
    raise ImproperlyConfigured, which names the variable, for a value that can't be used.
    """

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        # Not environ.Env, which takes a secret that begins with "$" for the name of another variable, reads "1e3" as
        # 13 and "perhaps" as "no".
        self._values = StrippedFiles()

    def int(
        self, name: str, *, default: int, least: int = 0, most: int | None = None, **description: Unpack[Description]
    ) -> int:
        """Return a whole number from ``least`` to ``most``. The description tells a bound other than 0."""
        if most is not None:
            description["help"] += f" From {least} to {most}."
        elif least:
            description["help"] += f" At least {least}."
        wanted = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"

        def parse(text: str) -> int:
            number = int(text)
            if number < least or (most is not None and number > most):
                raise ValueError
            return number

        return self._read(name, default, parse, wanted, **description)

    def float(self, name: str, *, default: float, least: float = 0, **description: Unpack[Description]) -> float:
        """Return a number of at least ``least``. The description tells a bound other than 0."""
        if least:
            description["help"] += f" At least {least:g}."

        def parse(text: str) -> float:
            number = float(text)
            if not least <= number < math.inf:
                raise ValueError
            return number

        return self._read(name, default, parse, f"a number of at least {least:g}", **description)

    def bool(self, name: str, *, default: bool, **description: Unpack[Description]) -> bool:
        """Return a flag."""
        text = self._text(name, _in_words(default), **description)
        if text is None:
            return default
        if text.lower() not in ON | OFF:
            raise ImproperlyConfigured(f"{name} must be on or off, not {text!r}.")
        return text.lower() in ON

    def choice(self, name: str, choices: Sequence[str], *, default: str, **description: Unpack[Description]) -> str:
        """Return one of the choices, however it is capitalised."""

        def parse(text: str) -> str:
            return choices[[choice.lower() for choice in choices].index(text.lower())]

        return self._read(name, default, parse, f"one of {', '.join(choices)}", **description)

    def url(self, name: str, *, default: str = "", **description: Unpack[Description]) -> str:
        """Return the address of a web server, or an empty string."""
        text = self.str(name, default=default, **description)
        if text and not _is_web_address(text):
            # Not the value, which may hold a password.
            raise ImproperlyConfigured(f"{name} must be an address such as https://example.com.")
        return text

    def origin(self, name: str, *, default: str = "", **description: Unpack[Description]) -> str:
        """Return the address of a whole web site, without a slash at its end, or an empty string."""
        text = self.url(name, default=default, **description)
        return _origin(name, text) if text else ""

    def origins(self, name: str, **description: Unpack[Description]) -> list[str]:
        """Return the addresses of web sites and browser extensions between commas."""
        return [_origin(name, text) for text in self._list(name, [], **description)]

    def hosts(self, name: str, **description: Unpack[Description]) -> list[str]:
        """Return the host names between commas, as Django compares them: ``.example.com`` is all names below it."""
        hosts = self._list(name, [], **description)
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise ImproperlyConfigured(f"{name} must be names such as example.com or [::1], not {host!r}.")
        return hosts

    def _list(self, name: str, default: list[str], **description: Unpack[Description]) -> list[str]:
        text = self._text(name, _in_words(default), **description)
        return default if text is None else [part.strip() for part in text.split(",") if part.strip()]

    def list(self, name: str, *, default: list[str], **description: Unpack[Description]) -> list[str]:
        """Return the texts between commas, without those that are empty."""
        return self._list(name, default, **description)

    def path(self, name: str, **description: Unpack[Description]) -> Path | None:
        """Return a path, of which ``~`` is the user's folder, or None."""
        text = self.str(name, **description)
        if text[:1] in _QUOTES:
            raise ImproperlyConfigured(f"{name} must be a path without quotes around it, not {text!r}.")
        return Path(text).expanduser() if text else None

    def email_url(self, name: str, *, default: str, **description: Unpack[Description]) -> dict[str, Any]:
        """Return the settings of a mail server by the names that Django gives them."""
        text = self._text(name, _in_words(default), **description) or default
        try:
            # environ reads a "+" as a space, as in a form; in an address or a password it is a plus.
            scheme, separator, rest = text.partition("://")
            settings: dict[str, Any] = environ.Env.email_url_config(scheme + separator + rest.replace("+", "%2B"))
        except (ValueError, ImproperlyConfigured):
            settings = {}
        is_smtp = settings.get("EMAIL_BACKEND") == SMTP_BACKEND
        if not settings or settings.get("OPTIONS") or (is_smtp and not settings["EMAIL_HOST"]):
            # Neither the value nor the error: both may hold a password.
            raise ImproperlyConfigured(f"{name} must be like smtp+tls://user:password@host:587.") from None
        return settings

    def _read(
        self, name: str, default: T, parse: Callable[[str], T], wanted: str, **description: Unpack[Description]
    ) -> T:
        text = self._text(name, _in_words(default), **description)
        try:
            return parse(text) if text else default
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} must be {wanted}, not {text!r}.") from error

    def _text(self, name: str, default: str, **description: Unpack[Description]) -> str | None:
        """Return a variable as it stands there, or None, and keep its description: ``default`` is in Markdown.

        Raise ValueError if it has another description already.
        """
        variable = Variable(name, description["group"], description.get("shown", default), description["help"])
        if self.variables.setdefault(name, variable) != variable:
            raise ValueError(f"{name} is described in two ways.")
        try:
            return self._values.get(name)
        except (OSError, ValueError) as error:
            raise ImproperlyConfigured(f"{name}_FILE can't be read: {error}") from error

    # Last, since the name means this method in the annotations of those below it.
    def str(self, name: str, *, default: str = "", **description: Unpack[Description]) -> str:
        """Return a text, which may be empty."""
        text = self._text(name, _in_words(default), **description)
        return default if text is None else text


def _origin(name: str, text: str) -> str:
    """Return a protocol and a host, without a slash at the end. Raise ImproperlyConfigured for anything else."""
    address = text.rstrip("/")
    if not re.fullmatch(r"[\w+.-]+://[^\s/?#@]+", address):
        raise ImproperlyConfigured(f"{name} must be an address such as https://example.com, without a path.")
    return address


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        is_complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not match, or a port that is no number
        return False
    return is_complete and not any(character.isspace() or character == "," for character in text)


def _in_words(default: Any) -> str:
    """Return a default in Markdown, or an empty string if there is none."""
    if default in ("", []):
        return ""
    if isinstance(default, bool):
        return "`on`" if default else "`off`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
