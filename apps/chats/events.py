"""Who wants to know when a chat has changed. Upper apps subscribe in ``AppConfig.ready()``."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Self
from uuid import UUID

import structlog
from celery import current_app
from django.db import transaction

logger = structlog.get_logger(__name__)


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

    def as_arguments(self) -> dict[str, Any]:
        """As the JSON arguments of a task."""
        fields = asdict(self)
        ids = {name: [str(pk) for pk in fields[name]] for name in ("message_ids", "deleted_ids")}
        return {name: str(value) for name, value in fields.items()} | ids | {"rev": self.rev}

    @classmethod
    def of_arguments(cls, arguments: dict[str, Any]) -> Self:
        return cls(
            owner_id=UUID(arguments["owner_id"]),
            chat_id=UUID(arguments["chat_id"]),
            kind=arguments["kind"],
            rev=arguments["rev"],
            integrity=UUID(arguments["integrity"]),
            message_ids=[UUID(pk) for pk in arguments["message_ids"]],
            deleted_ids=[UUID(pk) for pk in arguments["deleted_ids"]],
        )


Subscriber = Callable[[ChatChanged], None]
_subscribers: list[Subscriber] = []
_participants: list[Subscriber] = []
TASK = "apps.chats.tasks.tell_subscribers"


def subscribe(subscriber: Subscriber) -> None:
    """``subscriber`` is called in the background, once for each write, after those that subscribed before it."""
    if subscriber not in _subscribers:
        _subscribers.append(subscriber)


def take_part(subscriber: Subscriber) -> None:
    """``subscriber`` is called in the transaction of each write, at its end, and has to be quick."""
    if subscriber not in _participants:
        _participants.append(subscriber)


def announce(event: ChatChanged) -> None:
    """Tell those who take part now, and every subscriber in the background, once the transaction is committed.

    One task for all subscribers: to publish it takes half as long as the write. A broker that is down fails no write.
    """
    for participant in _participants:
        participant(event)
    transaction.on_commit(partial(_publish, event))


def _publish(event: ChatChanged) -> None:
    try:
        current_app.send_task(TASK, kwargs=event.as_arguments())
    except Exception:
        logger.exception("could not announce a change", chat_id=str(event.chat_id), rev=event.rev)


def tell(event: ChatChanged) -> None:
    """Call every subscriber; what one raises does not stop the others, and is raised in the end."""
    errors: list[Exception] = []
    for subscriber in _subscribers:
        try:
            subscriber(event)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
