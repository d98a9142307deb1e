"""Call somebody by their new name in the texts of memories."""

import re

from django.utils import timezone

from apps.memories.models import Entity, Memory
from apps.memories.signals import memories_changed
from apps.memories.trigger_words import after_rewriting
from apps.text.lexemes import Lexemes

BATCH_SIZE = 500  # memories in one statement


def rename_in_memories(entity: Entity, former: str) -> int:
    """Replace the former name of an entity in the texts of its registry. Return how many memories had it.

    Vectors stay: those of two sentences that differ in a name are alike, and there may be thousands. Must be called in
    a transaction.
    """
    pattern = re.compile(rf"(?<!\w){re.escape(former)}(?!\w)")
    rows = Memory.with_bin.for_owner(entity.owner_id).filter(text__contains=former)
    if entity.character_id:
        rows = rows.filter(character=entity.character_id)
    else:
        rows = rows.filter(character=None, chat=entity.chat_id)
    changed: list[Memory] = []
    for memory in rows.order_by("pk").select_for_update():
        text = pattern.sub(lambda match: entity.name, memory.text)
        if text != memory.text:
            memory.triggers = list(after_rewriting(memory.triggers, memory.text, text))
            memory.text, memory.lexemes, memory.updated_at = text, Lexemes(text), timezone.now()
            changed.append(memory)
    Memory.with_bin.for_owner(entity.owner_id).bulk_update(
        changed, ["text", "triggers", "lexemes", "updated_at"], batch_size=BATCH_SIZE
    )
    memories_changed.send(Memory, owner_id=entity.owner_id, ids=[memory.pk for memory in changed])
    return len(changed)
