"""Read recalls and the objects they refer to."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, Q
from django.utils.translation import gettext

from apps.chats.models import Message
from apps.common.problems import Missing
from apps.common.scoping import Owner
from apps.graph.building import GraphEntity
from apps.memories.models import Entity, Memory
from apps.prompts.models import Recall
from apps.prompts.turns import text_hash


def chat_recalls(owner: Owner, chat_id: UUID) -> Any:
    """Return a queryset of the recalls of the messages of the owner's chat, with these messages."""
    recalls = Recall.objects.for_owner(owner).filter(message__isnull=False, deleted=False)
    messages = Message.objects.for_owner(owner).with_swipes()
    return recalls.filter(chat_id=chat_id, chat__deleted_at=None).prefetch_related(Prefetch("message", messages))


def is_outdated(recall: Recall) -> bool:
    """Return whether the text of the turn has changed since the recall was made or edited."""
    return recall.message is not None and recall.turn_hash not in ("", text_hash(recall.message.mes))


def recalls_of_messages(owner: Owner, messages: Iterable[Message]) -> list[Recall]:
    """Return the recalls of ``messages``, with ``message`` set to these objects, in one query."""
    by_id = {message.pk: message for message in messages}
    stored = Recall.objects.for_owner(owner).filter(message__in=list(by_id), deleted=False)
    recalls = list(stored if by_id else ())
    for recall in recalls:
        if recall.message_id:
            recall.message = by_id[recall.message_id]
    return recalls


def access_recall(owner: Owner, chat_id: UUID, message_id: UUID) -> Recall:
    """Return the recall of a message of the owner's chat. Raise Missing."""
    recall: Recall | None = chat_recalls(owner, chat_id).filter(message_id=message_id).first()
    if recall is None:
        raise Missing(gettext("There is no recall of this message."))
    return recall


def source_positions(owner: Owner, recalls: Iterable[Recall]) -> dict[str, tuple[UUID, int]]:
    """Return chat id and index of the existing source messages by message id, in one query."""
    items = (item for recall in recalls for item in (*recall.memories, *recall.left_out))
    ids = {item["message"] for item in items if item.get("message")}
    messages = Message.objects.for_owner(owner).filter(pk__in=ids, chat__deleted_at=None)
    rows = messages.values_list("pk", "chat_id", "index") if ids else ()
    return {str(pk): (chat_id, index) for pk, chat_id, index in rows}


def stored_memories(owner: Owner, recalls: Iterable[Recall]) -> dict[str, Memory]:
    """Return the recalled memories that still exist by id, in one query, with what the card needs of them."""
    items = (item for recall in recalls for item in (*recall.memories, *recall.left_out))
    ids = {item["id"] for item in items if item.get("tier") in Memory.Tier.values}
    rows = Memory.objects.for_owner(owner).filter(pk__in=ids, deleted_at=None)
    return {str(memory.pk): memory for memory in rows.only("pk", "owner", "pinned", "hidden")} if ids else {}


def entities_by_memory(owner: Owner, recalls: Iterable[Recall]) -> dict[str, list[GraphEntity]]:
    """Return the entities of every recalled memory, by memory id, in one query."""
    tiers = set(Memory.Tier.values)
    ids = {item["id"] for recall in recalls for item in recall.memories if item.get("tier") in tiers}
    if not ids:
        return {}
    entities: dict[str, list[GraphEntity]] = {}
    rows = Entity.objects.for_owner(owner).filter(memories__in=ids).order_by("pk")
    for pk, kind, name, memory in rows.values_list("pk", "kind", "name", "memories"):
        entities.setdefault(str(memory), []).append(GraphEntity(str(pk), kind, name))
    return entities


def has_later_turn(turn: Message) -> bool:
    """Return whether a user message follows this one in its chat."""
    later = Message.objects.for_owner(turn.owner_id).filter(chat_id=turn.chat_id, index__gt=turn.index, is_user=True)
    return later.exists()


def awaits_recall(turn: Message) -> bool:
    """Return True if no user message follows this one in its chat, and its recall was neither made nor deleted."""
    later = Q(index__gt=turn.index, is_user=True) | Q(pk=turn.pk, recall__isnull=False)
    return not Message.objects.for_owner(turn.owner_id).filter(later, chat_id=turn.chat_id).exists()
