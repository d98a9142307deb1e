"""What goes on in chats in the background. Apps that work on chats register in ``AppConfig.ready()``."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Activity:
    """Work under way: ``done`` of ``total`` steps, of which the total may not be known yet (0)."""

    done: int
    total: int

    @property
    def percent(self) -> int:
        return min(100, 100 * self.done // self.total) if self.total else 0


Source = Callable[[Any, Collection[UUID]], Mapping[UUID, Activity]]
_sources: list[Source] = []


def register(source: Source) -> None:
    """``source(owner, chat_ids)`` returns what goes on, by chat id; it is called once for a list of chats."""
    if source not in _sources:
        _sources.append(source)


def activities_of(owner: Any, chat_ids: Collection[UUID]) -> dict[UUID, Activity]:
    """What goes on in the owner's chats; a chat in which nothing does is not there."""
    found: dict[UUID, Activity] = {}
    for source in _sources if chat_ids else ():
        found.update(source(owner, chat_ids))
    return found
