"""Calls of tools in a reply, put together from the pieces in which they come."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from apps.llm.values import first_text, storable_text


class ToolCalls:
    """The calls of a reply so far, each with its id, name and arguments."""

    def __init__(self) -> None:
        self._calls: list[dict[str, str]] = []
        self._latest: dict[int, dict[str, str]] = {}  # the call that began last, by index

    def add(self, parts: Iterable[Mapping[str, Any]]) -> None:
        """Add the parts of calls in one document: the name comes first, the arguments in pieces."""
        for position, part in enumerate(parts):
            function = part.get("function")
            if not isinstance(function, dict):
                continue
            index = part.get("index")
            place = index if isinstance(index, int) else position
            if isinstance(function.get("arguments"), dict):
                self._latest.pop(place, None)  # it is whole: Ollama sends each call without an id or an index
            call = self._call(place, storable_text(first_text(part, "id")), storable_text(first_text(function, "name")))
            call["arguments"] += _arguments(function.get("arguments"))

    def _call(self, place: int, call_id: str, name: str) -> dict[str, str]:
        """Return the call that a part belongs to. Gemini and Ollama give all calls of a reply the same index."""
        call = self._latest.get(place)
        is_another = bool(call_id and name and call and call["id"] not in ("", call_id))
        if call is None or is_another:
            call = self._latest[place] = {"id": "", "name": "", "arguments": ""}
            self._calls.append(call)
        call["id"] = call["id"] or call_id
        call["name"] = call["name"] or name
        return call

    def whole(self) -> tuple[dict[str, str], ...]:
        """Return the calls in the order in which they began."""
        return tuple(self._calls)


def _arguments(value: Any) -> str:
    """Return a piece of arguments, which some servers send as the object that they are."""
    return storable_text(json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value)
