"""Erase the texts of memories that were deleted for good with their chat."""

from typing import Any

from django.db.models import Exists, OuterRef

from apps.chats.models import Chat
from apps.instances.models import Conflict, Item, ItemVersion
from apps.instances.operations.targets import LONG_TERM
from apps.memories.models import Memory


def on_chat_purged(chat: Chat, **kwargs: Any) -> None:
    """Erase what items, their versions and their conflicts tell of memories that no longer exist.

    The items stay without a text: they become tombstones at the next sync, which tell the instances of the deletion.
    """
    memories = Memory.with_bin.for_owner(chat.owner_id).filter(pk=OuterRef("target"))
    items = Item.objects.for_owner(chat.owner_id).filter(~Exists(memories), kind=Item.Kind.MEMORY, tier=LONG_TERM)
    gone = list(items.order_by("pk").values_list("pk", flat=True))
    for model in (ItemVersion, Conflict):
        model.objects.for_owner(chat.owner_id).filter(item__in=gone).delete()
    Item.objects.for_owner(chat.owner_id).filter(pk__in=gone).update(text="")
