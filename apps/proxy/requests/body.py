"""Read and check the body of a request."""

from typing import Any

from apps.common.api.json_formats import parse_document
from apps.common.problems import Invalid
from apps.proxy.requests.turns import TOOL_ROLES

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
PLAIN_FIELDS = ("role", "content", "name")
MAX_MESSAGES = 10_000  # of a request; a context of a million tokens has fewer


def parsed_body(raw: bytes) -> dict[str, Any]:
    """Return the body of a request. Raise Invalid with the field, ParseError if it is not JSON.

    Half an emoji is no reason to refuse it: clients cut texts anywhere, and would send it with each later request.
    """
    body = parse_document(raw, repairs=True)
    if not isinstance(body, dict):
        raise Invalid.at("", "The body must be an object.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Invalid.at("/messages", "messages: it must be a list with at least one message.")
    if len(messages) > MAX_MESSAGES:
        raise Invalid.at("/messages", f"messages: there may be at most {MAX_MESSAGES:,}.")
    for number, message in enumerate(messages):
        _check_message(f"/messages/{number}", message)
    return body


def _check_message(at: str, message: Any) -> None:
    """Raise Invalid with the field."""
    name = at[1:].replace("/", ".")
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise Invalid.at(f"{at}/role", f"{name}.role: it must be one of {', '.join(ROLES)}.")
    if not isinstance(message.get("content"), str | list | None):
        raise Invalid.at(f"{at}/content", f"{name}.content: it must be a string, a list or null.")
    calls = message.get("tool_calls")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise Invalid.at(f"{at}/tool_calls", f"{name}.tool_calls: it must be a list of objects.")
    if not isinstance(message.get("function_call"), dict | None):
        raise Invalid.at(f"{at}/function_call", f"{name}.function_call: it must be an object.")


def without_blanks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages that say anything: many servers refuse a request with an empty one."""
    return [message for message in messages if not _is_blank(message)]


def _is_blank(message: dict[str, Any]) -> bool:
    """Return whether a message has neither text nor anything else, such as an image, or the call of a tool."""
    if message["role"] in TOOL_ROLES or any(value for name, value in message.items() if name not in PLAIN_FIELDS):
        return False
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return all(
        isinstance(part, dict) and part.get("type") == "text" and not str(part.get("text") or "").strip()
        for part in parts
    )
