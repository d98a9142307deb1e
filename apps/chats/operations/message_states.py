"""States of messages in the change log: make them before a change, and restore messages from them."""

import datetime as dt
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.chats.dates import parse_date
from apps.chats.message_data.namespaces import ends_scene, is_left_out
from apps.chats.models import Chat, Message, Swipe


def message_state(message: Message, swipes: Sequence[Swipe]) -> dict[str, Any]:
    """Return all stored fields of a message as JSON, from which undo restores it. ``swipes`` are ordered."""
    return {
        "id": str(message.pk),
        "index": message.index,
        "rev": message.rev,
        "name": message.name,
        "participant": str(message.participant_id) if message.participant_id else None,
        "is_user": message.is_user,
        "is_system": message.is_system,
        "withheld": message.withheld,
        "send_date": message.send_date,
        "swipe_id": message.swipe_id,
        "layout": message.layout,
        "created_at": message.created_at.isoformat(),
        "swipes": [swipe_state(swipe) for swipe in swipes],
    }


def swipe_state(swipe: Swipe) -> dict[str, Any]:
    """Return the stored fields of a swipe as JSON."""
    return {
        "id": str(swipe.pk),
        "mes": swipe.mes,
        "extra": swipe.extra,
        "info": swipe.info,
        "instance": swipe.instance,
        "created_at": swipe.created_at.isoformat(),
    }


def save_states(chat: Chat, states: list[dict[str, Any]]) -> list[Message]:
    """Save messages over the current ones. Each gets a new rev, so that patches for an earlier rev fail."""
    participants = set(chat.participants.values_list("pk", flat=True))
    messages = [_message_of(state, chat, participants) for state in states]
    stored = chat.messages.in_bulk([message.pk for message in messages])
    for message, state in zip(messages, states, strict=True):
        if earlier := stored.get(message.pk):
            message.rev, message.withheld = max(message.rev, earlier.rev), earlier.withheld
        message.rev += 1
        message.updated_at = timezone.now()
        message.save(force_insert=earlier is None, force_update=earlier is not None)
        _save_swipes(message, state)
    return messages


def _save_swipes(message: Message, state: dict[str, Any]) -> None:
    swipes = _swipes_of(state, message)
    kept = [swipe.pk for swipe in swipes]
    Swipe.objects.for_owner(message.owner_id).filter(message=message).exclude(pk__in=kept).delete()
    Swipe.objects.bulk_create(
        swipes,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["position", "mes", "extra", "info", "instance"],
    )


def _message_of(state: dict[str, Any], chat: Chat, participants: set[UUID]) -> Message:
    """Return the row for a ``message_state``, without its participant if that has left the chat."""
    participant = UUID(state["participant"]) if state["participant"] else None
    active = state["swipes"][state["swipe_id"]]
    return Message(
        id=UUID(state["id"]),
        owner_id=chat.owner_id,
        chat=chat,
        index=state["index"],
        rev=state["rev"],
        name=state["name"],
        participant_id=participant if participant in participants else None,
        is_user=state["is_user"],
        is_system=state["is_system"],
        withheld=state.get("withheld", False),
        send_date=state["send_date"],
        sent_at=parse_date(state["send_date"]),
        swipe_id=state["swipe_id"],
        ends_scene=ends_scene(active["extra"]),
        left_out=is_left_out(active["extra"]),
        layout=state["layout"],
        created_at=dt.datetime.fromisoformat(state["created_at"]),
    )


def _swipes_of(state: dict[str, Any], message: Message) -> list[Swipe]:
    return [
        Swipe(
            id=UUID(swipe["id"]),
            owner_id=message.owner_id,
            message=message,
            position=position,
            mes=swipe["mes"],
            extra=swipe["extra"],
            info=swipe["info"],
            instance=swipe.get("instance", ""),
            created_at=dt.datetime.fromisoformat(swipe["created_at"]),
        )
        for position, swipe in enumerate(state["swipes"])
    ]
