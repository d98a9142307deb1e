"""A message as a JSON document of all that is stored of it, so that undo can bring it back."""

import datetime as dt
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from apps.chats.dates import parse_date
from apps.chats.message_data import ends_scene
from apps.chats.models import Chat, Message, Swipe


def message_image(message: Message, swipes: Iterable[Swipe]) -> dict[str, Any]:
    """The image of ``message`` with ``swipes``, in their order."""
    return {
        "id": str(message.pk),
        "index": message.index,
        "rev": message.rev,
        "name": message.name,
        "participant": str(message.participant_id) if message.participant_id else None,
        "is_user": message.is_user,
        "is_system": message.is_system,
        "send_date": message.send_date,
        "swipe_id": message.swipe_id,
        "layout": message.layout,
        "created_at": message.created_at.isoformat(),
        "swipes": [swipe_image(swipe) for swipe in swipes],
    }


def swipe_image(swipe: Swipe) -> dict[str, Any]:
    return {
        "id": str(swipe.pk),
        "mes": swipe.mes,
        "extra": swipe.extra,
        "info": swipe.info,
        "created_at": swipe.created_at.isoformat(),
    }


def message_of(image: dict[str, Any], chat: Chat, participants: set[UUID]) -> Message:
    """The row of an image; who spoke is forgotten where he is no longer one of ``participants``."""
    participant = UUID(image["participant"]) if image["participant"] else None
    active = image["swipes"][image["swipe_id"]]
    return Message(
        id=UUID(image["id"]),
        owner_id=chat.owner_id,
        chat=chat,
        index=image["index"],
        rev=image["rev"],
        name=image["name"],
        participant_id=participant if participant in participants else None,
        is_user=image["is_user"],
        is_system=image["is_system"],
        send_date=image["send_date"],
        sent_at=parse_date(image["send_date"]),
        swipe_id=image["swipe_id"],
        ends_scene=ends_scene(active["extra"]),
        layout=image["layout"],
        created_at=dt.datetime.fromisoformat(image["created_at"]),
    )


def swipes_of(image: dict[str, Any], message: Message) -> list[Swipe]:
    """The rows of the swipes of an image."""
    return [
        Swipe(
            id=UUID(swipe["id"]),
            owner_id=message.owner_id,
            message=message,
            position=position,
            mes=swipe["mes"],
            extra=swipe["extra"],
            info=swipe["info"],
            created_at=dt.datetime.fromisoformat(swipe["created_at"]),
        )
        for position, swipe in enumerate(image["swipes"])
    ]
