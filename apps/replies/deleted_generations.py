"""Keep what replies lose when their message or swipe is deleted, and give it back when the deletion is undone."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.models import Chat, Message
from apps.replies.models import Generation
from apps.replies.operations import settle_ended, update_fields


def save_generations(chat: Chat, message_ids: Collection[UUID], swipe_ids: Collection[UUID]) -> dict[str, Any]:
    """Return the message of each reply that stands there, and whether it had all of the text, by generation id."""
    generations = Generation.objects.for_owner(chat.owner_id).filter(chat=chat, message__swipes__in=swipe_ids)
    rows = generations.distinct().values_list("pk", "message_id", "settled")
    return {str(pk): {"message": str(message_id), "settled": settled} for pk, message_id, settled in rows}


def restore_generations(chat: Chat, saved: Mapping[str, Mapping[str, Any]]) -> None:
    """Link replies to their restored messages. What came meanwhile is written there once the undo is."""
    messages = Message.objects.for_owner(chat.owner_id).filter(pk__in=[row["message"] for row in saved.values()])
    present = set(messages.values_list("pk", flat=True))
    for generation in Generation.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=saved):
        before = saved[str(generation.pk)]
        if (message_id := UUID(before["message"])) in present:
            update_fields(generation, message_id=message_id, settled=before["settled"])
    # If it fails, the sweep writes the texts.
    transaction.on_commit(lambda: settle_ended(chat), robust=True)
