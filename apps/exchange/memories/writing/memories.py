"""Write memories that were found in a document."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db.models import Q

from apps.chats.models import Message
from apps.common.database.ids import uuid7
from apps.exchange.memories.reading.found import FoundMemory
from apps.exchange.memories.writing.target import ImportTarget, source_indexes
from apps.memories.models import Memory, RetiredReason
from apps.memories.operations.memories import AddedMemory, add_memories
from apps.memories.witnesses import NOBODY, participants_of, witnessed_by_all_of


def write_memories(found: Iterable[FoundMemory], target: ImportTarget) -> None:
    """Store the memories that are not known yet, linked to their entities and source messages."""
    found = list(found)
    messages = target.messages(one.span for one in found)
    known = _known(target)
    preferred = _preferred(found, target)
    kept: list[tuple[Memory, FoundMemory]] = []
    for one in found:
        key = _same(_tier(one, target), one.text)
        if key in known or preferred[key] is not one:
            target.written["known"] += 1
        else:
            kept.append((_memory(one, target, messages), one))
    known |= {_same(memory.tier, memory.text): memory.pk for memory, _ in kept}
    target.memory_ids |= {one.key: known[_same(_tier(one, target), one.text)] for one in found if one.key}
    _set_states(kept, target.memory_ids)
    add_memories(
        [
            AddedMemory(
                memory,
                [messages[index] for index in source_indexes(one.span) if index in messages],
                {target.registry.get(entity.name, entity.kind).pk for entity in one.entities},
            )
            for memory, one in kept
        ]
    )
    target.written["memories"] += len(kept)


def _known(target: ImportTarget) -> dict[tuple[str, str], UUID]:
    """Return the ids of memories of the character or the chat by tier and text, also of those that a person deleted."""
    scope = Q(chat=target.chat) if target.chat else Q(pk=None)
    if target.character:
        scope |= Q(tier=Memory.Tier.LONG_TERM, character=target.character)
    values = Memory.objects.for_owner(target.owner_id).filter(scope).order_by("-pk").values_list("tier", "text", "pk")
    return {_same(tier, text): pk for tier, text, pk in values}


def _preferred(found: Iterable[FoundMemory], target: ImportTarget) -> dict[tuple[str, str], FoundMemory]:
    """Return the memory to keep of those with one text: the first that still holds, else the first."""
    preferred: dict[tuple[str, str], FoundMemory] = {}
    for one in found:
        key = _same(_tier(one, target), one.text)
        if key not in preferred or (_has_ended(preferred[key]) and not _has_ended(one)):
            preferred[key] = one
    return preferred


def _has_ended(one: FoundMemory) -> bool:
    return one.outdated or bool(one.superseded_by)


def _tier(one: FoundMemory, target: ImportTarget) -> str:
    """Return the tier of a memory. Without a chat it is a lasting one."""
    return one.tier if target.chat else Memory.Tier.LONG_TERM


def _same(tier: str, text: str) -> tuple[str, str]:
    return tier, " ".join(text.split()).casefold()


def _memory(one: FoundMemory, target: ImportTarget, messages: Mapping[int, Message]) -> Memory:
    """Return a memory that isn't saved."""
    sources = [messages[index] for index in source_indexes(one.span) if index in messages]
    return Memory(
        id=uuid7(),
        owner_id=target.owner_id,
        chat=target.chat,
        character=target.character,
        tier=_tier(one, target),
        kind=one.kind,
        text=one.text,
        importance=one.importance,
        expiration=one.expiration,
        confidence=one.confidence,
        consolidated=True,
        triggers=list(one.triggers),
        witnessed_by=_witnesses(one, target, sources),
        valid_from=sources[-1] if sources else None,
        pinned=one.pinned,
        hidden=one.hidden,
    )


def _witnesses(one: FoundMemory, target: ImportTarget, sources: list[Message]) -> list[UUID]:
    """Return the members of a group who know a memory. If none of the names is a member's, nobody does."""
    members = participants_of(target.chat) if target.chat else []
    if not members:
        return []
    if one.known_to:
        names = {name.casefold() for name in one.known_to}
        return sorted(member.pk for member in members if member.name.casefold() in names) or [NOBODY]
    return witnessed_by_all_of(sources, members)


def _set_states(kept: Sequence[tuple[Memory, FoundMemory]], ids: Mapping[str, UUID]) -> None:
    """Set what each memory was replaced by. One of a circle that replaces itself in the end stays active."""
    new = {memory.pk: memory for memory, _ in kept}
    successors: set[UUID] = set()  # a circle closes at one of them: only then its links are followed
    for memory, one in kept:
        successor = ids.get(one.superseded_by) if one.superseded_by else None
        if successor is None:
            if _has_ended(one):
                memory.state, memory.retired_reason = Memory.State.RETIRED, RetiredReason.OUTDATED
        elif successor != memory.pk and not (memory.pk in successors and _leads_to(successor, memory.pk, new)):
            successors.add(successor)
            memory.state, memory.superseded_by_id = Memory.State.SUPERSEDED, successor
            memory.valid_to_id = new[successor].valid_from_id if successor in new else None


def _leads_to(start: UUID, end: UUID, memories: Mapping[UUID, Memory]) -> bool:
    """Return whether the successors of ``start``, itself included, lead to ``end``."""
    at: UUID | None = start
    while at is not None and at != end:
        at = memories[at].superseded_by_id if at in memories else None
    return at == end
