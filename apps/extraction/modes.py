"""Change how a chat remembers: make it read-only, or start it fresh."""

from typing import Any

from django.db import transaction

from apps.chats.locking import lock_chat
from apps.chats.models import Chat, Message
from apps.common import clock
from apps.extraction.runs import mark_all_read
from apps.memories.models import Arc, ChatMemory, Inheritance, Knowledge, LedgerEntry, Memory, Scene, VersionedText
from apps.memories.queries import chat_memory_of

FRESH_START = "fresh_start"
_LAYERS = (Scene, Knowledge, LedgerEntry, Arc, VersionedText)


@transaction.atomic
def set_read_only(owner: Any, chat: Chat) -> ChatMemory:
    """Make the chat recall without learning anything new. Raises Missing."""
    chat = lock_chat(owner, chat.pk)
    memory = chat_memory_of(chat)
    if memory.mode != ChatMemory.Mode.READ_ONLY:
        memory.mode = ChatMemory.Mode.READ_ONLY
        memory.read_only_since = _newest(chat)
        memory.save()
    return memory


@transaction.atomic
def end_read_only(owner: Any, chat: Chat, *, learn: bool) -> ChatMemory:
    """End read-only mode. With ``learn``, also learn from the messages sent meanwhile. Raises Missing."""
    chat = lock_chat(owner, chat.pk)
    memory = chat_memory_of(chat)
    if memory.mode == ChatMemory.Mode.READ_ONLY:
        if not learn:
            mark_all_read(chat)
        memory.mode, memory.read_only_since = ChatMemory.Mode.FULL, None
        memory.save()
    return memory


@transaction.atomic
def start_fresh(owner: Any, chat: Chat) -> ChatMemory:
    """Retire what is remembered of this chat alone; long-term memories stay. Can be undone. Raises Missing."""
    chat = lock_chat(owner, chat.pk)
    Memory.objects.for_owner(owner).active().filter(chat=chat, tier=Memory.Tier.SESSION).update(
        state=Memory.State.RETIRED, retired_reason=FRESH_START, updated_at=clock.now()
    )
    inherited = Inheritance.objects.for_owner(owner).filter(chat=chat, memory__tier=Memory.Tier.SESSION)
    inherited.filter(state=Memory.State.ACTIVE).update(state=Memory.State.RETIRED, retired_reason=FRESH_START)
    for model in _LAYERS:
        rows = model.objects.for_owner(owner).filter(chat=chat).exclude(state="retired")
        # The reason carries the previous state, for undo.
        for state in set(rows.values_list("state", flat=True)):
            rows.filter(state=state).update(
                state="retired", retired_reason=f"{FRESH_START}:{state}", updated_at=clock.now()
            )
    mark_all_read(chat)
    memory = chat_memory_of(chat)
    memory.fresh_start = _newest(chat)
    memory.save()
    return memory


@transaction.atomic
def undo_fresh_start(owner: Any, chat: Chat) -> ChatMemory:
    """Restore what the fresh start retired, together with what was learnt since. Raises Missing."""
    chat = lock_chat(owner, chat.pk)
    aside = {"retired_reason": FRESH_START}
    active = {"state": Memory.State.ACTIVE, "retired_reason": ""}
    Memory.objects.for_owner(owner).filter(chat=chat, **aside).update(**active, updated_at=clock.now())
    Inheritance.objects.for_owner(owner).filter(chat=chat, **aside).update(**active)
    for model in _LAYERS:
        for row in model.objects.for_owner(owner).filter(chat=chat, retired_reason__startswith=f"{FRESH_START}:"):
            row.state, row.retired_reason = row.retired_reason.partition(":")[2], ""
            if row.state == "current" and isinstance(row, LedgerEntry | VersionedText) and _has_newer(row):
                row.state = "replaced"
            row.save(update_fields=["state", "retired_reason", "updated_at"])
    memory = chat_memory_of(chat)
    memory.fresh_start = None
    memory.save()
    return memory


def _has_newer(row: LedgerEntry | VersionedText) -> bool:
    """Return whether another row has become current in its place."""
    if isinstance(row, LedgerEntry):
        place = {"chat": row.chat_id, "entity": row.entity_id, "field": row.field}
    else:
        place = {"chat": row.chat_id, "kind": row.kind, "character": row.character_id}
    rows: Any = type(row).objects.for_owner(row.owner_id)
    return bool(rows.filter(**place, state="current").exists())


def _newest(chat: Chat) -> Message | None:
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()
