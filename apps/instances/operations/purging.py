"""Erase what instances shared of a chat that is deleted for good."""

from functools import reduce
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.accounts.instance_names import LOCI
from apps.chats.models import Chat
from apps.instances.models import Conflict, Item, ItemVersion
from apps.instances.operations.targets import LONG_TERM
from apps.journal.purging import periods_told_of
from apps.memories.journal.bullets import without_chat
from apps.memories.journal.periods import CONSOLIDATED
from apps.memories.models import JournalEntry, Memory

TEXTS: dict[type[ItemVersion] | type[Conflict], tuple[str, ...]] = {
    ItemVersion: ("text",),
    Conflict: ("ours", "theirs"),
}


def on_chat_purged(chat: Chat, **kwargs: Any) -> None:
    """Erase the texts of memories that no longer exist, and the chat's bullets in entries of the journal.

    The items stay without a text: at the next sync they become tombstones or have the entry's new text, which tell
    the instances of it. What an instance pushes before it has seen that brings nothing back.
    """
    _erase_memories(chat)
    if not chat.keeps_memories:
        _erase_bullets(chat)
        _erase_summaries(chat)


def _erase_memories(chat: Chat) -> None:
    memories = Memory.with_bin.for_owner(chat.owner_id).filter(pk=OuterRef("target"))
    items = Item.objects.for_owner(chat.owner_id).filter(~Exists(memories), kind=Item.Kind.MEMORY, tier=LONG_TERM)
    gone = list(items.order_by("pk").values_list("pk", flat=True))
    for model in TEXTS:
        model.objects.for_owner(chat.owner_id).filter(item__in=gone).delete()
    gone_now = Item.objects.for_owner(chat.owner_id).filter(pk__in=gone).exclude(text="")
    gone_now.update(text="", erased_chats=[chat.pk])


def _erase_bullets(chat: Chat) -> None:
    """Remove the chat's bullets from what is kept of entries; what a person wrote or edited stays."""
    tag, touched = f"[chat:{chat.pk}]", set[UUID]()
    for model, texts in TEXTS.items():
        has_tag = Q(*((f"{name}__contains", tag) for name in texts), _connector=Q.OR)
        for row in model.objects.for_owner(chat.owner_id).filter(has_tag, item__in=_entries(chat)).order_by("pk"):
            for name in texts:
                setattr(row, name, without_chat(getattr(row, name), str(chat.pk)))
            row.save(update_fields=texts)
            touched.add(row.item_id)
    tagged = list(_entries(chat).filter(text__contains=tag).order_by("pk").values_list("pk", flat=True))
    Item.objects.for_owner(chat.owner_id).filter(pk__in=tagged).update(text="")
    for item in Item.objects.for_owner(chat.owner_id).filter(pk__in=touched.union(tagged)).order_by("pk"):
        item.erased_chats = [*item.erased_chats, chat.pk]
        item.save(update_fields=["erased_chats"])


def without_erased(item: Item, text: str) -> str:
    """Return what may be kept of a text that was written before an instance learnt what was erased of its item."""
    if not item.erased_chats:
        return text
    # A snapshot may have restored a chat under its id: then its texts may be kept again.
    chats = Chat._base_manager.filter(owner_id=item.owner_id, pk__in=item.erased_chats)
    gone = sorted(set(item.erased_chats) - set(chats.values_list("pk", flat=True)))
    if gone and item.tier == LONG_TERM:
        return ""
    return reduce(without_chat, map(str, gone), text)


def _erase_summaries(chat: Chat) -> None:
    """Erase what Loci itself told of the weeks, months and years of a chat: a model's prose has no tags."""
    periods = {each.name for each in periods_told_of(chat)}  # which differ in form from level to level
    rows = _entries(chat).filter(tier__in=CONSOLIDATED, period__in=periods)
    items = list(rows.order_by("pk").values_list("pk", flat=True))
    ItemVersion.objects.for_owner(chat.owner_id).filter(item__in=items, instance=LOCI).delete()
    Conflict.objects.for_owner(chat.owner_id).filter(item__in=items, our_instance=LOCI).update(ours="")
    Item.objects.for_owner(chat.owner_id).filter(pk__in=items, instance=LOCI).update(text="")


def _entries(chat: Chat) -> QuerySet[Item]:
    """Return the items of journal entries that no person has written or edited."""
    written = JournalEntry.objects.for_owner(chat.owner_id).filter(pk=OuterRef("target")).exclude(edited_by="")
    items = Item.objects.for_owner(chat.owner_id).filter(~Exists(written), kind=Item.Kind.MEMORY)
    return items.exclude(tier=LONG_TERM)
