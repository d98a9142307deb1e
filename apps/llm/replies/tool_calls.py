"""Calls of tools in a reply, put together from the pieces in which they come."""

from collections.abc import Iterable, Mapping
from typing import Any

from apps.llm.replies.values import first_text, storable_text


class ToolCalls:
    """The calls of a reply so far, each with its id, name and arguments."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, str]] = {}

    def add(self, parts: Iterable[Mapping[str, Any]]) -> None:
        """Add the parts of calls in one document: the name comes first, the arguments in pieces."""
        for position, part in enumerate(parts):
            function = part.get("function")
            if not isinstance(function, dict):
                continue
            index = part.get("index")
            place = index if isinstance(index, int) else position
            call = self._calls.setdefault(place, {"id": "", "name": "", "arguments": ""})
            call["id"] = call["id"] or storable_text(first_text(part, "id"))
            call["name"] = call["name"] or storable_text(first_text(function, "name"))
            call["arguments"] += storable_text(first_text(function, "arguments"))

    def whole(self) -> tuple[dict[str, str], ...]:
        """Return the calls in the order in which they began."""
        return tuple(self._calls.values())
