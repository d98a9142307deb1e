"""What other apps show under a message. They register in ``AppConfig.ready()``; the chat page renders it."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from apps.chats.models import Message

Panel = Callable[[Any, Iterable[Message]], dict[UUID, str]]
_panels: list[Panel] = []


def register(panel: Panel) -> None:
    """``panel(owner, messages)`` returns safe HTML by message id; it is called once for a window."""
    if panel not in _panels:
        _panels.append(panel)


def panels_for(owner: Any, messages: list[Message]) -> dict[UUID, list[str]]:
    """The HTML of every panel, by the id of the message that it belongs to."""
    result: dict[UUID, list[str]] = {}
    for panel in _panels:
        for message_id, html in panel(owner, messages).items():
            result.setdefault(message_id, []).append(html)
    return result
