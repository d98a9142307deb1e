"""Recalls that follow their messages: copied to a branch, and brought back with messages that were deleted."""

from collections.abc import Collection
from itertools import islice
from typing import Any
from uuid import UUID

from apps.chats.models import Chat, Message
from apps.prompts.models import Recall
from apps.prompts.operations import KEPT_FIELDS

BATCH_SIZE = 200


def copy_recalls(chat: Chat, **kwargs: Any) -> None:
    """Receive ``chat_branched``: copy the recalls of the copied messages. They link to the messages of the branch."""
    if chat.parent_id is None:
        return
    ids = _ids_in_branch(chat)
    recalls = Recall.objects.for_owner(chat.owner_id).filter(chat=chat.parent_id, message__index__lte=chat.parent_index)
    copies = (_copy(recall, chat, ids) for recall in recalls.order_by("message__index").iterator(BATCH_SIZE))
    while batch := list(islice(copies, BATCH_SIZE)):
        Recall.objects.bulk_create(batch)


def _ids_in_branch(chat: Chat) -> dict[str, UUID]:
    """Return the id of each copied message by the id of the original."""
    messages = Message.objects.for_owner(chat.owner_id)
    originals = messages.filter(chat=chat.parent_id, index__lte=chat.parent_index).values_list("index", "pk")
    by_index = dict(messages.filter(chat=chat).values_list("index", "pk"))
    return {str(pk): by_index[index] for index, pk in originals}


def _copy(recall: Recall, chat: Chat, ids: dict[str, UUID]) -> Recall:
    values = {name: getattr(recall, name) for name in KEPT_FIELDS}
    for name in ("memories", "left_out"):
        values[name] = [
            item | {key: str(ids[item[key]]) if item[key] in ids else item[key] for key in ("id", "message")}
            for item in values[name]
        ]
    return Recall(
        owner_id=chat.owner_id,
        chat=chat,
        message_id=ids[str(recall.message_id)],
        created_at=recall.created_at,
        **values,
    )


def save_recalls(chat: Chat, message_ids: Collection[UUID], swipe_ids: Collection[UUID]) -> dict[str, Any]:
    """Return the values of the recalls of messages that are about to be deleted, by message id."""
    recalls = Recall.objects.for_owner(chat.owner_id).filter(message__in=message_ids)
    return {str(recall.message_id): {name: getattr(recall, name) for name in KEPT_FIELDS} for recall in recalls}


def restore_recalls(chat: Chat, saved: dict[str, Any]) -> None:
    """Bring back the recalls of restored messages."""
    Recall.objects.bulk_create(
        Recall(owner_id=chat.owner_id, chat=chat, message_id=UUID(message_id), **values)
        for message_id, values in saved.items()
    )
