"""Write what instances share to memories and journal entries, and delete it there.

Rows get no vector here, since a model would be asked while they are locked: a job embeds them afterwards.
"""

from typing import Any
from uuid import UUID

from apps.accounts.instance_names import LOCI
from apps.chats.models import Chat
from apps.instances.models import Item
from apps.journal.entries import delete_entry, mark_ancestors_stale, new_entry
from apps.memories.journal.bullets import append_bullets, chats_in, new_bullets
from apps.memories.journal.periods import Granularity, parse_period
from apps.memories.models import JournalEntry, Memory
from apps.memories.operations.memories import correct_text, delete_memory, set_text
from apps.memories.signals import memories_written
from apps.text.lexemes import Lexemes

LONG_TERM = Memory.Tier.LONG_TERM.value
TIERS = (*(name.value for name in Granularity), LONG_TERM)
TIER_CHOICES = [(tier, tier) for tier in TIERS]
NO_VECTOR = (None, "")
# Columns of a deleted, retired or superseded memory that is written again.
REACTIVATED: dict[str, Any] = {
    "deleted_at": None,
    "in_bin": False,
    "state": Memory.State.ACTIVE,
    "retired_reason": "",
    "superseded_by": None,
    "valid_to": None,
}


def write_target(item: Item, text: str, *, editor: str, chat: UUID | None = None) -> UUID:
    """Set the text of an item's memory or journal entry; create it, or bring it back, if there is none.

    Return the ``target`` that the item has then: it is another one if an entry of its period has another id. The item
    is left as it is. Of an identity file, there is nothing else to write.
    """
    if item.kind == Item.Kind.IDENTITY:
        return item.target
    if item.tier == LONG_TERM:
        return _write_memory(item, text, editor, chat)
    return _write_entry(item, text, editor)


def delete_target(item: Item) -> None:
    """Make the memory or journal entry of an item a tombstone."""
    if memory := Memory.with_bin.for_owner(item.owner_id).filter(pk=item.target, tier=LONG_TERM).first():
        delete_memory(memory)
    if entry := JournalEntry.objects.for_owner(item.owner_id).filter(pk=item.target).first():
        delete_entry(entry)


def merged_text(item: Item, text: str) -> str:
    """Return the item's text with the bullets of ``text`` that it doesn't have."""
    entry = JournalEntry.objects.for_owner(item.owner_id).filter(pk=item.target).first()
    return append_bullets(item.text, new_bullets(item.text, text, entry.chats if entry else ()))


def _write_memory(item: Item, text: str, editor: str, chat_id: UUID | None) -> UUID:
    memories = Memory.with_bin.for_owner(item.owner_id).filter(pk=item.target, tier=LONG_TERM)
    memory = memories.select_for_update().first()
    if is_new := memory is None:
        chat = Chat.objects.for_owner(item.owner_id).filter(pk=chat_id).first() if chat_id else None
        character = chat.character if chat else None
        memory = Memory(pk=item.target, owner_id=item.owner_id, chat=chat, character=character, version=0)
        memory.tier, memory.kind, memory.confidence = LONG_TERM, Memory.Kind.FACT, 1.0
        memory.source_instance = item.instance
    write_text = set_text if is_new else correct_text
    write_text(memory, text, NO_VECTOR)
    memory.edited_by, memory.participating_instances = editor, item.participating_instances
    if not memory.is_active:
        for name, value in REACTIVATED.items():
            setattr(memory, name, value)
    memory.version += 1
    memory.save(force_insert=is_new)  # an id that another owner has must fail, not be overwritten
    memories_written.send(Memory, owner_id=item.owner_id, ids=[memory.pk])
    return memory.pk


def _write_entry(item: Item, text: str, editor: str) -> UUID:
    entries = JournalEntry.objects.for_owner(item.owner_id)
    period = parse_period(Granularity(item.tier), item.period)
    instance = "" if item.written_for == LOCI else item.written_for
    entry = entries.filter(pk=item.target).first()
    if entry is None and item.tier != Granularity.SIGNIFICANT:
        entry = entries.of_period(period).filter(instance=instance).first()
    if is_new := entry is None:
        entry = new_entry(item.owner_id, period, instance)
        entry.pk, entry.version = item.target, 0
    entry.text, entry.deleted_at, entry.stale = text, None, False
    entry.edited_by = entry.edited_by if item.tier == Granularity.DAILY else editor
    entry.chats = list(dict.fromkeys([*entry.chats, *chats_in(text)]))
    entry.lexemes, entry.embedding, entry.embedding_model = Lexemes(f"{entry.title}\n{text}"), None, ""
    entry.version += 1
    entry.save(force_insert=is_new)
    mark_ancestors_stale(entry)
    return entry.pk
