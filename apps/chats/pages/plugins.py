"""Let other apps add to the chat pages: progress of background work, and panels under messages."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.chats.models import Message
from apps.common.registry import Registry
from apps.common.scoping import Owner


@dataclass(frozen=True)
class Activity:
    """Progress of background work on a chat: ``done`` of ``total`` steps. The total is 0 while it is unknown."""

    done: int
    total: int

    @property
    def percent(self) -> int:
        return min(100, 100 * self.done // self.total) if self.total else 0


# Called with an owner and chat ids: returns the work in progress, by chat id.
ActivitySource = Callable[[Any, Collection[UUID]], Mapping[UUID, Activity]]
# Called with an owner and messages: returns safe HTML by message id.
PanelRenderer = Callable[[Any, Iterable[Message]], dict[UUID, str]]

activity_sources: Registry[ActivitySource] = Registry()
panels: Registry[PanelRenderer] = Registry()


def activities_of(owner: Owner, chat_ids: Collection[UUID]) -> dict[UUID, Activity]:
    """Return the work in progress by chat id. Call each source once for all chats."""
    activities: dict[UUID, Activity] = {}
    for source in activity_sources if chat_ids else ():
        activities.update(source(owner, chat_ids))
    return activities


def panels_for(owner: Owner, messages: list[Message]) -> dict[UUID, list[str]]:
    """Return the HTML of all panels by message id. Call each panel once for all messages."""
    result: dict[UUID, list[str]] = {}
    for panel in panels:
        for message_id, html in panel(owner, messages).items():
            result.setdefault(message_id, []).append(html)
    return result
