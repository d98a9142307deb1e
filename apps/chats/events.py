"""Who wants to know when a chat has changed. Upper apps subscribe in ``AppConfig.ready()``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, update_wrapper
from uuid import UUID

from django.db import transaction


@dataclass(frozen=True)
class ChatChanged:
    """One committed write: ``message_ids`` were added or changed, ``deleted_ids`` are gone."""

    owner_id: UUID
    chat_id: UUID
    kind: str
    rev: int
    integrity: UUID
    message_ids: list[UUID] = field(default_factory=list)
    deleted_ids: list[UUID] = field(default_factory=list)


Subscriber = Callable[[ChatChanged], None]
_subscribers: list[Subscriber] = []


def subscribe(subscriber: Subscriber) -> None:
    if subscriber not in _subscribers:
        _subscribers.append(subscriber)


def announce_on_commit(event: ChatChanged) -> None:
    """Tell every subscriber once the transaction is committed. What one raises does not stop the others."""
    for subscriber in _subscribers:
        # Named as the subscriber, since Django logs the name of what raises, which a partial doesn't have.
        transaction.on_commit(update_wrapper(partial(subscriber, event), subscriber), robust=True)
