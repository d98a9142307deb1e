"""Read the recalls that ST-BME stored with messages of the user."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from apps.chats.dates import parse_date
from apps.chats.models import Chat, Message, Swipe
from apps.common.database.ids import uuid7
from apps.exchange.reading.values import MAX_ITEMS, text_at
from apps.injection.models import Recall
from apps.injection.turns import text_hash
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory

KEY = "bme_recall"  # in the extra of a message
BATCH_SIZE = 500


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
    made_for = document.get("boundUserFloorText")
    return Recall(
        id=uuid7(),
        owner_id=chat.owner_id,
        chat=chat,
        message=message,
        text=text,
        edited=document.get("manuallyEdited") is True,
        source=Recall.Source.PERSISTENT,
        memories=[_entry(memory) for memory in found],
        tokens=count_tokens(text),
        created_at=parse_date(document.get("createdAt")) or timezone.now(),
        turn_hash=text_hash(made_for if isinstance(made_for, str) and made_for else message.mes),
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
        "why": "recalled by ST-BME",
        "message": None,
        "triggered": True,
    }
