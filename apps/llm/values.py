"""Read typed values from the untyped JSON of model servers."""

from collections.abc import Mapping
from typing import Any

MAX_MODEL_LENGTH = 200  # characters of a model's name
MAX_TOKENS = 10**9  # a higher count is ignored as implausible


def storable_text(text: Any) -> str:
    """Return text that Postgres can store: without NUL; surrogate halves are joined where they meet, else dropped.

    Anything but a string becomes "".
    """
    if not isinstance(text, str):
        return ""
    if any("\ud800" <= character <= "\udfff" for character in text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return text.replace("\x00", "")


def first_text(values: Any, *names: str) -> str:
    """Return the first member of ``names`` that is a non-empty string, or ""."""
    members = (values.get(name) for name in names) if isinstance(values, Mapping) else ()
    return next((value for value in members if isinstance(value, str) and value), "")


def token_count(values: Any, name: str) -> int | None:
    """Return a member that is a plausible token count, or None."""
    value = values.get(name) if isinstance(values, Mapping) else None
    return value if type(value) is int and 0 <= value < MAX_TOKENS else None


def model_names(models: Any, *members: str) -> list[str]:
    """Return the sorted names in a list of model objects, each read from the first of ``members`` that it has."""
    entries = models if isinstance(models, list) else []
    return sorted({storable_text(first_text(entry, *members))[:MAX_MODEL_LENGTH] for entry in entries} - {""})
