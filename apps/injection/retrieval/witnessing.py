"""Which messages the responding member of a group has witnessed."""

from collections.abc import Collection
from uuid import UUID

from apps.chats.models import Character, Message
from apps.injection.turns import UserTurn
from apps.memories.witnesses import participant_of, participants_of, witnessed_turns


def unwitnessed(turn: UserTurn, character: Character | None, message_ids: Collection[UUID | None]) -> set[UUID]:
    """Return the ids of those messages of the chat that the character did not witness; outside groups, none."""
    ids = {pk for pk in message_ids if pk is not None}
    if not ids or participant_of(turn.chat, character) is None:
        return set()
    rows = Message.objects.for_owner(turn.owner_id).filter(chat=turn.chat, pk__in=ids).with_swipes()
    messages = {message.index: message for message in rows}
    seen = witnessed_turns(messages, character, participants_of(turn.chat))
    return {message.pk for index, message in messages.items() if index not in seen}


def witnessed_all(turn: UserTurn, character: Character | None, start: int, end: int) -> bool:
    """Return True if the character witnessed all messages from index ``start`` to ``end``, or it is no group."""
    if participant_of(turn.chat, character) is None:
        return True
    rows = Message.objects.for_owner(turn.owner_id).filter(chat=turn.chat, index__range=(start, end))
    messages = {message.index: message for message in rows.with_swipes()}
    return witnessed_turns(messages, character, participants_of(turn.chat)).keys() == messages.keys()
