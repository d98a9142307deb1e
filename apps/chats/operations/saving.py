"""Writes what a batch of patches made of a locked chat."""

from apps.chats.images import swipe_image
from apps.chats.models import Chat, Message, Swipe
from apps.chats.operations.batches import Batch
from apps.chats.operations.storing import place
from apps.chats.patches import Draft
from apps.common import clock

PATCHED = [
    *("name", "participant", "is_system", "send_date", "sent_at", "swipe_id"),
    *("ends_scene", "layout", "rev", "updated_at"),
]


def save_batch(chat: Chat, batch: Batch) -> list[Message]:
    """Save everything that the batch changed, and return the messages added or changed, in their order."""
    touched = [draft.message for draft in batch.changed] + [row for row, _ in batch.inserted.values()]
    for draft in batch.changed:
        _save(draft)
    if batch.deleted:
        Message.objects.for_owner(chat.owner_id).filter(pk__in=batch.deleted).delete()
    Message.objects.bulk_create([row for row, _ in batch.inserted.values()])
    Swipe.objects.bulk_create([swipe for _, swipes in batch.inserted.values() for swipe in swipes])
    if batch.order is not None:
        chat.message_count = len(batch.order)
        place(chat, batch.order)
        _take_places(batch, touched)
    return sorted(touched, key=lambda message: message.index)


def _take_places(batch: Batch, messages: list[Message]) -> None:
    assert batch.order is not None
    index = {pk: n for n, pk in enumerate(batch.order)}
    for message in messages:
        message.index = index[message.pk]


def _save(draft: Draft) -> None:
    message = draft.message
    _save_swipes(draft)
    message.rev += 1
    message.updated_at = clock.now()
    message.save(update_fields=PATCHED)


def _save_swipes(draft: Draft) -> None:
    swipes = Swipe.objects.for_owner(draft.message.owner_id)
    if draft.removed_swipe_ids:
        swipes.filter(pk__in=draft.removed_swipe_ids).delete()
    before = {image["id"]: (position, image) for position, image in enumerate(draft.before["swipes"])}
    for swipe in draft.kept_swipes:
        if before[str(swipe.pk)] != (swipe.position, swipe_image(swipe)):
            swipes.filter(pk=swipe.pk).update(position=swipe.position, mes=swipe.mes, extra=swipe.extra)
    Swipe.objects.bulk_create(draft.added_swipes)
