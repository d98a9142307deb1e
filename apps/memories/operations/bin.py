"""Put memories into the bin with the chats that they come from, take them out, and delete them for good.

A memory is in the bin if no chat outside it vouches for the memory: neither by a source, nor as a branch that inherited
it and still has its text, nor as the chat of a memory that a person wrote or corrected. A chat in the bin that keeps
memories vouches for long-term ones.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from apps.chats.models import Chat
from apps.memories.kinds import LAYERS, NAMING, entries_of
from apps.memories.models import (
    Ending,
    Entity,
    Inheritance,
    Memory,
    MemorySource,
    RetiredReason,
    VersionedText,
)
from apps.memories.operations.superseding import retract_memories, update_superseded_by_another_story
from apps.memories.visibility import MemoryQuerySet

_NOT_RETIRED = (Memory.State.ACTIVE, Memory.State.SUPERSEDED)


def on_bin_changed(chat: Chat, **kwargs: Any) -> None:
    """Put memories of a chat into the bin or take them out, in the transaction that does so with the chat."""
    update_bin(chat, _memories_of(chat))


def update_bin(chat: Chat, memories: MemoryQuerySet) -> None:
    """Put those of the memories into the bin, or take them out, for which the chat is no longer or again the reason."""
    vouched_for = memories.filter(_is_vouched_for(chat.owner_id)).values("pk")
    taken_out = list(memories.filter(in_bin=True, pk__in=vouched_for).values_list("pk", flat=True))
    put_in = list(memories.filter(in_bin=False).exclude(pk__in=vouched_for).values_list("pk", flat=True))
    rows: MemoryQuerySet = Memory.with_bin.for_owner(chat.owner_id)
    rows.filter(pk__in=taken_out).update(in_bin=False)
    rows.filter(pk__in=put_in).update(in_bin=True)
    _update_superseded(chat.owner_id, [*taken_out, *put_in])
    _replace_texts_made_from(chat, put_in)


def _replace_texts_made_from(chat: Chat, memory_ids: Collection[UUID]) -> None:
    """Leave profiles and canon of other stories, which may tell memories that are now in the bin, without a version.

    They are kept as earlier versions, and runs write them again. What a person wrote stays.
    """
    learnt = Memory.with_bin.for_owner(chat.owner_id).filter(
        pk__in=memory_ids, tier=Memory.Tier.LONG_TERM, character__isnull=False
    )
    made_later = learnt.filter(character=OuterRef("character"), created_at__lte=OuterRef("created_at"))
    texts = VersionedText.objects.for_owner(chat.owner_id).filter(
        Exists(made_later),
        kind__in=(VersionedText.Kind.PROFILE, VersionedText.Kind.CANON),
        state=VersionedText.State.CURRENT,
        edited_by="",
    )
    texts.exclude(story=chat.story).update(state=VersionedText.State.REPLACED, updated_at=timezone.now())


def on_chat_purged(chat: Chat, **kwargs: Any) -> None:
    """Delete what is remembered of a chat for good, in the transaction that deletes the chat, and before it."""
    if chat.keeps_memories:
        _memories_of(chat).filter(Memory.life.outlives_chat, in_bin=False).update(kept=True)
        _keep_canon(chat)
        Ending.objects.for_owner(chat.owner_id).filter(chat=chat).update(chat=None)
    _delete_layers(chat)
    gone = _memories_in_bin_only_of(chat)
    gone_ids = list(gone.values_list("pk", flat=True))
    named = set(Memory.entities.through.objects.filter(memory__in=gone_ids).values_list("entity_id", flat=True))
    for model in (Memory.with_bin, Inheritance.objects):
        # What a memory that is deleted had superseded is active already.
        restored = model.for_owner(chat.owner_id).filter(superseded_by__in=gone_ids, state=Memory.State.ACTIVE)
        restored.update(superseded_by=None, retired_reason="", valid_to=None)
    Memory.with_bin.for_owner(chat.owner_id).filter(pk__in=gone_ids).delete()
    _retire_sourceless(chat)
    _delete_unnamed(chat.owner_id, named)


def _memories_of(chat: Chat) -> MemoryQuerySet:
    """Return the memories that the chat learnt, inherited or confirmed."""
    inherited = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat)
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(message__chat=chat)
    memories: MemoryQuerySet = Memory.with_bin.for_owner(chat.owner_id)
    return memories.filter(
        Q(chat=chat) | Q(pk__in=inherited.values("memory_id")) | Q(pk__in=sources.values("memory_id"))
    )


def _is_vouched_for(owner_id: UUID) -> Any:
    """Return the condition of memories that are not in the bin."""
    sources = MemorySource.objects.for_owner(owner_id).filter(memory=OuterRef("pk"), lost=False)
    inherited = _vouching_inheritances(owner_id)
    by_person_or_sourceless = ~Q(edited_by="") | Q(~Exists(sources))
    return (
        Q(kept=True)
        | Q(chat=None, story=None)
        | Q(Exists(sources.filter(_vouches("message__chat", "memory__tier"))))
        | Q(Exists(inherited.filter(_vouches("chat", "memory__tier"))))
        | Q(chat__isnull=False) & _vouches("chat", "tier") & by_person_or_sourceless
    )


def _vouching_inheritances(owner_id: UUID) -> Any:
    """Return what branches inherited of a memory, but for those in which the texts of it have changed or gone."""
    rows = Inheritance.objects.for_owner(owner_id).filter(memory=OuterRef("pk"))
    return rows.exclude(state=Memory.State.RETIRED, message_ids=[])


def _vouches(chat: str, tier: str) -> Q:
    """Return the condition of chats, by lookup, that vouch for memories of a tier."""
    keeps = Q(**{f"{chat}__keeps_memories": True, tier: Memory.Tier.LONG_TERM})
    return Q(**{f"{chat}__deleted_at": None}) | keeps


def _update_superseded(owner_id: UUID, changed: Collection[UUID]) -> None:
    """Make what memories in the bin had superseded active, and superseded again what others of ``changed`` had.

    The link to the successor stays, so that a restored chat finds everything as it was.
    """
    successors = {row.pk: row for row in Memory.with_bin.for_owner(owner_id).filter(pk__in=changed)}
    update_superseded_by_another_story(owner_id, changed)
    in_own_story = Memory.objects.for_owner(owner_id).exclude(supersessions__successor=F("superseded_by"))
    for of_model in (in_own_story, Inheritance.objects.for_owner(owner_id)):
        for row in of_model.filter(superseded_by__in=changed, state__in=_NOT_RETIRED):
            successor: Memory | None = successors[row.superseded_by_id]
            seen: set[UUID] = set()
            while successor is not None and successor.in_bin and successor.pk not in seen:
                seen.add(successor.pk)
                successor = successors.get(successor.superseded_by_id) or successor.superseded_by
            replaced = successor is not None and not successor.in_bin
            row.state = Memory.State.SUPERSEDED if replaced else Memory.State.ACTIVE
            row.save(update_fields=["state"])


def _memories_in_bin_only_of(chat: Chat) -> MemoryQuerySet:
    """Return memories of the chat that are in the bin and come from no other chat, not even from one in the bin."""
    inherited = _vouching_inheritances(chat.owner_id).exclude(chat=chat)
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(memory=OuterRef("pk")).exclude(message__chat=chat)
    alone = Q(chat=chat) | Q(chat=None)
    return _memories_of(chat).filter(alone & ~Exists(inherited) & ~Exists(sources), in_bin=True)


def _retire_sourceless(chat: Chat) -> None:
    """Retire memories of other chats that are left without a source."""
    others = MemorySource.objects.for_owner(chat.owner_id).filter(memory=OuterRef("pk"), lost=False)
    others = others.exclude(message__chat=chat)
    left = _memories_of(chat).filter(in_bin=True, chat__deleted_at=None, chat__isnull=False).filter(~Exists(others))
    left_ids = list(left.values_list("pk", flat=True))
    Memory.with_bin.for_owner(chat.owner_id).filter(pk__in=left_ids).update(in_bin=False, updated_at=timezone.now())
    retired = Memory.objects.for_owner(chat.owner_id).filter(pk__in=left_ids).exclude(state=Memory.State.RETIRED)
    retract_memories(retired.select_related("superseded_by"), RetiredReason.SOURCE_GONE)


def _delete_layers(chat: Chat) -> None:
    """Delete the layers of a chat, except those of its character that are kept."""
    named: set[UUID] = set()
    for model in LAYERS:
        rows = entries_of(model, chat)
        if chat.keeps_memories:
            rows = rows.exclude(model.life.outlives_chat)
        for name in model.life.names:
            named.update(rows.exclude(**{name: None}).values_list(name, flat=True))
        rows.delete()
    _delete_unnamed(chat.owner_id, named)


def _keep_canon(chat: Chat) -> None:
    """Detach the canon that a person wrote from its chat. It replaces one kept from a branch that was purged before.

    Other entries that are kept lose their chat as it is deleted. Of texts without a chat, too, only one is current.
    """
    rows = VersionedText.objects.for_owner(chat.owner_id).filter(VersionedText.life.outlives_chat)
    mine = rows.filter(chat=chat)
    kept_before = rows.filter(chat=None, story=chat.story, character__in=mine.values("character"))
    kept_before.update(state=VersionedText.State.REPLACED)
    mine.update(chat=None)


def _delete_unnamed(owner_id: UUID, entity_ids: Collection[UUID]) -> None:
    """Delete those of the entities that nothing names any more, not even in the bin."""
    rows = Entity.objects.for_owner(owner_id).filter(pk__in=entity_ids)
    for model, name in NAMING:
        rows = rows.filter(~Exists(model._base_manager.filter(owner=owner_id, **{name: OuterRef("pk")})))
    rows.delete()
