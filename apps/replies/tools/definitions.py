"""The tools as a model is offered them, and what it may send as their arguments. Without database access."""

import json
from collections.abc import Mapping
from typing import Any

from apps.llm.values import storable_text

MAX_QUERY = 400  # characters
MAX_COUNT = 20  # messages that are read at once
MAX_NUMBER = 10_000_000
SEARCH, READ = "search_memory", "read_messages"


class BadCall(Exception):
    """A call that can't be answered. The text tells the model why."""


def _tool(name: str, description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    _tool(
        SEARCH,
        "Look up what was said or became known earlier in this conversation, and what is remembered from others. Use "
        "it when the reply depends on something that is not in the messages at hand: a name, a promise, a place, how "
        "something ended. Don't use it for what you can read above.",
        {"query": {"type": "string", "description": "What you want to know, in a few words or as a question."}},
    ),
    _tool(
        READ,
        "Read earlier messages of this conversation in full, from a number that search_memory has told.",
        {
            "first": {"type": "integer", "description": "Number of the first message."},
            "count": {"type": "integer", "description": f"How many messages, at most {MAX_COUNT}."},
        },
    ),
]
NAMES = [tool["function"]["name"] for tool in TOOLS]


def arguments_of(call: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of a call. Raise BadCall for another tool, and for what are no arguments of this one."""
    if call["name"] not in NAMES:
        raise BadCall(f"There is no such tool. There are {' and '.join(NAMES)}.")
    try:
        arguments = json.loads(call["arguments"] or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise BadCall("The arguments must be one JSON object.")
    return _query(arguments) if call["name"] == SEARCH else _range(arguments)


def _query(arguments: Mapping[str, Any]) -> dict[str, Any]:
    query = storable_text(arguments.get("query"))
    if not query.strip() or len(query) > MAX_QUERY:
        raise BadCall(f"query must be a text of at most {MAX_QUERY} characters.")
    return {"query": " ".join(query.split())}


def _range(arguments: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for name, high in (("first", MAX_NUMBER), ("count", MAX_COUNT)):
        value = arguments.get(name)
        if type(value) is not int or not 0 <= value <= high:
            raise BadCall(f"{name} must be a whole number from 0 to {high}.")
        values[name] = value
    return values
