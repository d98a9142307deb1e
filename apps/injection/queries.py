"""Reads of recalls."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from apps.chats.models import Message
from apps.common.problems import Missing
from apps.common.scoping import Owner
from apps.injection.graph import Named
from apps.injection.models import Recall
from apps.memories.models import Entity, Memory


def recalls_of(owner: Owner, chat_id: UUID) -> Any:
    """The recalls of the owner's chat, each with its message."""
    return Recall.objects.for_owner(owner).filter(chat_id=chat_id).select_related("message")


def recalls_among(owner: Owner, messages: Iterable[Message]) -> list[Recall]:
    """The recalls that ``messages`` have, each with the message given, in one query."""
    by_id = {message.pk: message for message in messages}
    rows = list(Recall.objects.for_owner(owner).filter(message__in=list(by_id)) if by_id else ())
    for row in rows:
        row.message = by_id[row.message_id]
    return rows


def access_recall(owner: Owner, chat_id: UUID, message_id: UUID) -> Recall:
    """The recall of a message of the owner's chat. Raises Missing."""
    row: Recall | None = recalls_of(owner, chat_id).filter(message_id=message_id).first()
    if row is None:
        raise Missing("There is no recall of this message.")
    return row


def places_of(owner: Owner, recalls: Iterable[Recall]) -> dict[str, tuple[UUID, int]]:
    """Where what was recalled was said, as it stands now: chat and index by message id, in one query."""
    ids = {item["message"] for row in recalls for item in row.memories if item.get("message")}
    rows = Message.objects.for_owner(owner).filter(pk__in=ids).values_list("pk", "chat_id", "index") if ids else ()
    return {str(pk): (chat_id, index) for pk, chat_id, index in rows}


def named_in(owner: Owner, recalls: Iterable[Recall]) -> dict[str, list[Named]]:
    """The entities of every recalled memory by the memory's id, in one query."""
    tiers = set(Memory.Tier.values)
    ids = {item["id"] for row in recalls for item in row.memories if item.get("tier") in tiers}
    found = Entity.objects.for_owner(owner).filter(memories__in=ids).order_by("pk") if ids else None
    named: dict[str, list[Named]] = {}
    for pk, kind, name, memory in found.values_list("pk", "kind", "name", "memories") if found is not None else ():
        if str(memory) in ids:
            named.setdefault(str(memory), []).append(Named(str(pk), kind, name))
    return named


def is_newest_turn(turn: Message) -> bool:
    """Whether no user's turn comes after it in its chat."""
    later = Message.objects.for_owner(turn.owner_id).filter(chat_id=turn.chat_id, index__gt=turn.index, is_user=True)
    return not later.exists()
