"""Check the arguments of a tool against its schema, and say what is wrong with them in a few words."""

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from apps.common.documents.strict_json import JSONError, loads
from apps.mcp.calls import MAX_ERRORS, Refused

REASONS = {
    "minLength": "it must not be empty.",
    "maxLength": "it is too long: at most {0} characters.",
    "minimum": "it must be at least {0}.",
    "maximum": "it must be at most {0}.",
    "minItems": "it must have at least {0} items.",
    "maxItems": "it must have at most {0} items.",
}
NAMES = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
         "array": "a list", "object": "an object"}  # fmt: skip
TYPES: dict[str, type | tuple[type, ...]] = {
    "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
}  # fmt: skip
# What some clients add to the arguments of every tool for themselves: Gemini CLI the first, n8n the others.
OF_CLIENTS = frozenset({"wait_for_previous", "toolCallId", "sessionId", "chatInput", "action"})


def check(schema: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments without those that are null, or none of the tool's, but of its client.

    Some clients send lists, objects and numbers as texts in JSON: they are read. Raise Refused, with each wrong
    argument and the reason.
    """
    known = schema["properties"]
    given = {
        name: _read(known.get(name, {}), value)
        for name, value in arguments.items()
        if value is not None and (name in known or name not in OF_CLIENTS)
    }
    reasons: list[str] = []
    for error in Draft202012Validator(schema).iter_errors(given):
        reasons.extend(_reasons(error, given))
        if len(reasons) >= MAX_ERRORS:
            break
    if reasons:
        raise Refused(" ".join(dict.fromkeys(reasons[:MAX_ERRORS])))
    return given


def _read(schema: dict[str, Any], value: Any) -> Any:
    """Return a value, or what it says in JSON if it is a text and should be something else."""
    expected = schema.get("type", "")
    if isinstance(value, str) and expected in TYPES:
        value = _decoded(value, expected)
    if isinstance(value, list) and expected == "array":
        return [_read(schema.get("items", {}), item) for item in value]
    if isinstance(value, dict) and expected == "object":
        properties = schema.get("properties", {})
        return {name: _read(properties.get(name, {}), item) for name, item in value.items()}
    return value


def _decoded(text: str, expected: str) -> Any:
    """Return the value of a text in JSON if it is of the expected type, else the text, which is then refused."""
    try:
        value = loads(text.lower() if expected == "boolean" else text)
    except JSONError:
        return text
    is_right = isinstance(value, TYPES[expected]) and isinstance(value, bool) == (expected == "boolean")
    return value if is_right else text


def _reasons(error: ValidationError, given: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong, without the value: it may be a megabyte."""
    place = "/".join(str(part) for part in error.absolute_path)
    prefix = f"{place[:200]}/" if place else ""
    if error.validator == "required":
        yield from (f"{prefix}{name}: it is missing." for name in error.validator_value if name not in error.instance)
    elif error.validator == "additionalProperties":
        known = error.schema["properties"]
        unknown = [name[:100] for name in error.instance if name not in known]
        yield from (f"{prefix}{name}: there is no such argument; there are {', '.join(known)}." for name in unknown)
    else:
        yield f"{place[:200]}: {_reason(error)}"


def _reason(error: ValidationError) -> str:
    value = error.validator_value
    if error.validator == "type":
        return f"it must be {NAMES.get(str(value), value)}."
    if error.validator == "enum":
        return f"it must be one of {', '.join(value)}."
    if error.validator == "pattern":
        return "it must be a UUID." if "0-9a-f" in value else "it has characters that it may not have."
    return REASONS.get(str(error.validator), "it is not valid.").format(value)
