"""What people do with memories."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from apps.chats.models import Character, Chat, Message
from apps.common import clock
from apps.memories.models import Memory
from apps.memories.operations.remembering import link_sources
from apps.memories.operations.texts import set_text


@transaction.atomic
def create_memory(
    owner: Any,
    *,
    text: str,
    tier: str,
    kind: str,
    editor: str,
    chat: Chat | None = None,
    character: Character | None = None,
    importance: int = 2,
    sources: Sequence[Message] = (),
) -> Memory:
    """A memory that a person writes down."""
    memory = Memory(
        owner_id=owner.pk,
        chat=chat,
        character=character or (chat.character if chat else None),
        tier=tier,
        kind=kind,
        importance=importance,
        confidence=1.0,
        edited_by=editor,
        valid_from=max(sources, key=lambda message: message.index, default=None),
    )
    set_text(memory, text)
    memory.save()
    link_sources(memory.owner_id, memory.pk, sources)
    return memory


def edit_memory(memory: Memory, *, editor: str, **changes: Any) -> Memory:
    """A person's correction: text, kind, importance, pinned, hidden. It overwrites and counts the version, and leaves
    alone what a run may have made of the memory meanwhile."""
    changed = [*changes, "edited_by", "version", "updated_at"]
    if "text" in changes:
        set_text(memory, changes.pop("text"))
        changed += ["lexemes", "embedding", "embedding_model"]
    for name, value in changes.items():
        setattr(memory, name, value)
    memory.edited_by = editor
    memory.version += 1
    memory.save(update_fields=changed)
    return memory


def delete_memory(memory: Memory) -> None:
    """Leave a tombstone, which keeps the same from being learnt again."""
    memory.deleted_at = memory.deleted_at or clock.now()
    memory.save(update_fields=["deleted_at", "updated_at"])


def restore_memory(memory: Memory) -> None:
    """Take a deletion back."""
    memory.deleted_at = None
    memory.save(update_fields=["deleted_at", "updated_at"])
