"""What a tool is, and the parts of the schemas of their arguments."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from apps.mcp.calls import Api

Arguments = dict[str, Any]
Schema = dict[str, Any]
UUID_PATTERN = "^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$"
MAX_TEXT = 600  # characters of a text in a list: enough to tell what it is


@dataclass(frozen=True)
class Definition:
    """A tool. ``description`` tells a model when to call it; ``run`` returns an object."""

    name: str
    title: str
    description: str
    run: Callable[[Api, Arguments], Awaitable[Schema]]
    properties: Schema
    required: tuple[str, ...] = ()
    reads: bool = False
    destroys: bool = False
    repeats_safely: bool = False
    schema: Schema = field(init=False)

    def __post_init__(self) -> None:
        schema: Schema = {"type": "object", "properties": self.properties, "additionalProperties": False}
        object.__setattr__(self, "schema", schema | ({"required": list(self.required)} if self.required else {}))


def text(description: str, **limits: Any) -> Schema:
    return {"type": "string", "description": description, **limits}


def uuid(description: str) -> Schema:
    return {"type": "string", "pattern": UUID_PATTERN, "description": description}


def integer(description: str, **limits: Any) -> Schema:
    return {"type": "integer", "description": description, **limits}


def number(description: str, **limits: Any) -> Schema:
    return {"type": "number", "description": description, **limits}


def choice(description: str, values: list[str]) -> Schema:
    return {"type": "string", "enum": values, "description": description}


def texts(description: str, values: list[str]) -> Schema:
    return {"type": "array", "items": {"type": "string", "enum": values}, "description": description}


def objects(description: str, **properties: Any) -> Schema:
    items = {"type": "object", **({"properties": properties} if properties else {})}
    return {"type": "array", "items": items, "description": description}


CURSOR = text("The cursor of the page before.", minLength=1, maxLength=1000)
KEY = text(
    "Any text of your own that names this write: repeated with the same key and arguments, it is stored once.",
    minLength=1,
    maxLength=240,
    pattern="^[ -~]*$",
)


def without_key(arguments: Arguments) -> Arguments:
    """Return the arguments without the idempotency key, which is a header of the API."""
    return {name: value for name, value in arguments.items() if name != "idempotency_key"}


def shortened(value: str, length: int = MAX_TEXT) -> str:
    """Return a text, cut off with an ellipsis if it is long."""
    return value if len(value) <= length else value[: length - 1].rstrip() + "…"


def present(**values: Any) -> Schema:
    """Return the values that say something: neither None nor empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def cursor_of(page: Schema) -> str | None:
    """Return the cursor of the next page of a list, or None."""
    found = parse_qs(urlsplit(page.get("next") or "").query).get("cursor")
    return found[0] if found else None
