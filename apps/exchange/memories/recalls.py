"""Read the recalls that ST-BME stored with messages of the user, and keep these up to date."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from apps.chats.dates import parse_date, timestamp
from apps.chats.locking import Guard
from apps.chats.models import Chat, Message, Swipe
from apps.chats.operations import Patch, patch_messages
from apps.common.database.ids import uuid7
from apps.exchange.memories.reading.values import MAX_ITEMS, text_at
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from apps.prompts.models import Recall
from apps.prompts.turns import text_hash

KEY = "bme_recall"  # in the extra of a message
BATCH_SIZE = 500
WHY = "recalled by ST-BME"  # of the entries of a recall that was read


def read_recalls(chat: Chat, memory_ids: Mapping[str, UUID]) -> tuple[int, int]:
    """Store the recalls of a chat that was just imported. Return how many were stored, and how many were damaged.

    ``memory_ids`` are the memories made of the graph's nodes, by the nodes' ids. A recall that was made for another
    text of its message is stored, and holds again only if the message gets that text.
    """
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, is_user=True, recall=None)
    # ``extra`` is of the type json, which has no operator for a key.
    mentioned = Swipe.objects.for_owner(chat.owner_id).annotate(text=Cast("extra", TextField()))
    mentioned = mentioned.filter(message__chat=chat, text__contains=f'"{KEY}"')
    stored = rows.filter(pk__in=mentioned.values("message")).with_swipes().order_by("index")
    memories = Memory.objects.for_owner(chat.owner_id).in_bulk(list(memory_ids.values()))
    recalls, damaged = [], 0
    for message in stored:
        document = message.extra.get(KEY)
        if document is None:
            continue  # of a swipe that isn't shown
        if not isinstance(document, dict) or not text_at(document, "injectionText"):
            damaged += 1
            continue
        recalls.append(_recall(chat, message, document, memory_ids, memories))
    Recall.objects.bulk_create(recalls, batch_size=BATCH_SIZE)
    return len(recalls), damaged


def says_recall(message: Message, recall: Recall) -> bool:
    """Return whether the message has its recall in ST-BME's form, with nothing that this form can't say."""
    document = message.extra.get(KEY)
    if not isinstance(document, dict) or recall.deleted or recall.left_out or recall.lore:
        return False
    is_same = text_at(document, "injectionText") == recall.text
    is_same = is_same and _is_edited(document, message) == recall.edited
    return is_same and all(item.get("why") == WHY for item in recall.memories)


def write_recall(recall: Recall, **kwargs: Any) -> None:
    """Receive ``recall_changed``: bring the recall that ST-BME stored with the message up to date."""
    message = Message.objects.for_owner(recall.owner_id).with_swipes().get(pk=recall.message_id)
    stored = message.extra.get(KEY)
    if isinstance(stored, dict):
        patch = Patch(id=message.pk, extra={KEY: None if recall.deleted else _changes(stored, recall, message)})
        patch_messages(recall.owner_id, recall.chat_id, [patch], Guard(optional=True))


def _changes(stored: Mapping[str, Any], recall: Recall, message: Message) -> dict[str, Any]:
    """Return the keys to set. Those that only some versions of ST-BME write are changed where they stand."""
    changes: dict[str, Any] = {"injectionText": recall.text, "manuallyEdited": recall.edited}
    others: dict[str, Any] = {
        "tokenEstimate": recall.tokens,
        "updatedAt": timestamp(recall.updated_at),
        "boundUserFloorText": message.mes,
    }
    if not all(item.get("why") == WHY for item in recall.memories):
        others["selectedNodeIds"] = []  # the text was generated again, from memories that ST-BME's graph doesn't have
    return changes | {key: value for key, value in others.items() if key in stored}


def _made_for(document: Mapping[str, Any], message: Message) -> str:
    """Return the text of the turn that a recall was made for, which may be another one by now."""
    bound = document.get("boundUserFloorText")
    return bound if isinstance(bound, str) and bound else message.mes


def _is_edited(document: Mapping[str, Any], message: Message) -> bool:
    """Return whether a recall is an edit made for the turn as it is: those of ST-BME don't survive a change of it."""
    return document.get("manuallyEdited") is True and _made_for(document, message) == message.mes


def _recall(
    chat: Chat,
    message: Message,
    document: Mapping[str, Any],
    memory_ids: Mapping[str, UUID],
    memories: Mapping[UUID, Memory],
) -> Recall:
    text = text_at(document, "injectionText")
    nodes = document.get("selectedNodeIds")
    keys = [key for key in nodes[:MAX_ITEMS] if isinstance(key, str)] if isinstance(nodes, list) else []
    found = [memories[memory_ids[key]] for key in dict.fromkeys(keys) if memory_ids.get(key) in memories]
    return Recall(
        id=uuid7(),
        owner_id=chat.owner_id,
        chat=chat,
        message=message,
        text=text,
        edited=_is_edited(document, message),
        source=Recall.Source.PERSISTENT,
        memories=[_entry(memory) for memory in found],
        tokens=count_tokens(text),
        created_at=parse_date(document.get("createdAt")) or timezone.now(),
        turn_hash=text_hash(_made_for(document, message)),
    )


def _entry(memory: Memory) -> dict[str, Any]:
    """Return a memory as an entry of a recall, in the form of ``Entry.document``."""
    return {
        "id": str(memory.pk),
        "score": 0.0,
        "signals": {},
        "tier": memory.tier,
        "kind": memory.kind,
        "slot": "triggered",
        "text": memory.text,
        "why": WHY,
        "message": None,
        "triggered": True,
    }
