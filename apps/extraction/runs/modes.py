"""Change the memory mode of a chat: make it read-only, or make a fresh start."""

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.chats.locking import lock_chat
from apps.chats.models import Chat, Message
from apps.common.scoping import Owner
from apps.extraction.progress import skip_all
from apps.extraction.runs.operations import cancel_open_runs
from apps.memories.kinds import LAYERS, entries_of
from apps.memories.models import REPLACED, RETIRED, ChatMemory, Inheritance, Memory, RetiredReason
from apps.memories.operations.layer_entries import has_current_counterpart


@transaction.atomic
def set_read_only(owner: Owner, chat: Chat) -> ChatMemory:
    """Make a chat read-only: it recalls memories, but none are extracted from it. Raise Missing."""
    chat = lock_chat(owner, chat.pk)
    memory = ChatMemory.of_chat(chat)
    if memory.mode != ChatMemory.Mode.READ_ONLY:
        cancel_open_runs(chat)
        memory.mode = ChatMemory.Mode.READ_ONLY
        memory.read_only_since = _newest_message(chat)
        memory.save()
    return memory


@transaction.atomic
def end_read_only(owner: Owner, chat: Chat, *, learn: bool) -> ChatMemory:
    """End read-only mode. With ``learn``, also extract memories from messages sent in the meantime. Raise Missing."""
    chat = lock_chat(owner, chat.pk)
    memory = ChatMemory.of_chat(chat)
    if memory.mode == ChatMemory.Mode.READ_ONLY:
        if learn:
            Chat.objects.for_owner(owner).filter(pk=chat.pk).update(settled_rev=0)  # the next sweep starts a run
        else:
            skip_all(chat)
        memory.mode, memory.read_only_since = ChatMemory.Mode.FULL, None
        memory.save()
    return memory


@transaction.atomic
def start_fresh(owner: Owner, chat: Chat) -> ChatMemory:
    """Retire what is remembered of this chat until ``undo_fresh_start``. Raise Missing.

    What is not only this chat's stays: ``life.outlives_fresh_start`` of each kind.
    """
    chat = lock_chat(owner, chat.pk)
    cancel_open_runs(chat)  # which would write what it has read
    retired = {"state": RETIRED, "retired_reason": RetiredReason.FRESH_START}
    memories = Memory.objects.for_owner(owner).exclude(Memory.life.outlives_fresh_start)
    memories.active().filter(chat=chat).update(**retired, updated_at=timezone.now())
    inherited = Inheritance.objects.for_owner(owner).filter(chat=chat, memory__in=memories.values("pk"))
    inherited.filter(state=Memory.State.ACTIVE).update(**retired)
    for model in LAYERS:
        rows = entries_of(model, chat).exclude(state=RETIRED).exclude(model.life.outlives_fresh_start)
        rows.update(**retired, state_before=F("state"), updated_at=timezone.now())
    skip_all(chat)
    memory = ChatMemory.of_chat(chat)
    memory.fresh_start = _newest_message(chat)
    memory.save()
    return memory


@transaction.atomic
def undo_fresh_start(owner: Owner, chat: Chat) -> ChatMemory:
    """Restore the rows that the fresh start retired, and keep newer ones. Raise Missing.

    Memories that were learnt again in the meantime are not restored, except those that a person pinned or corrected.
    """
    chat = lock_chat(owner, chat.pk)
    retired = {"retired_reason": RetiredReason.FRESH_START}
    active = {"state": Memory.State.ACTIVE, "retired_reason": ""}
    learnt_again = Memory.objects.for_owner(owner).active().filter(chat=chat, tier=Memory.Tier.SESSION).values("text")
    own = Memory.objects.for_owner(owner).filter(chat=chat, **retired)
    own = own.exclude(text__in=learnt_again, pinned=False, edited_by="")
    inherited = Inheritance.objects.for_owner(owner).filter(chat=chat, **retired)
    inherited.exclude(
        memory__in=Memory.objects.for_owner(owner).filter(text__in=learnt_again, pinned=False, edited_by="")
    ).update(**active)
    own.update(**active, updated_at=timezone.now())
    for model in LAYERS:
        for row in entries_of(model, chat).filter(**retired):
            row.state, row.state_before, row.retired_reason = row.state_before, "", ""
            if row.state == model.life.holds and has_current_counterpart(row):
                row.state = REPLACED
            row.save(update_fields=["state", "state_before", "retired_reason", "updated_at"])
    memory = ChatMemory.of_chat(chat)
    memory.fresh_start = None
    memory.save()
    return memory


def _newest_message(chat: Chat) -> Message | None:
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()
