"""What a branch takes over from its parent, as it stood when they parted."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.chats.models import Chat, Message
from apps.memories.models import (
    Arc,
    Digest,
    Entity,
    Inheritance,
    Knowledge,
    LedgerEntry,
    Memory,
    MemorySource,
    Reading,
    Relationship,
    Scene,
)
from apps.memories.readings import fingerprint_of

_ENTITIES = ("entity_id", "subject_id", "target_id")
_COMMON = ("source", "swipe", "until", "until_swipe")


def inherit(branch: Chat) -> None:
    """Memories by reference, what is derived beside them as rows of the branch, and what has been read.

    To be called in the transaction that made the branch.
    """
    parent, at = branch.parent, branch.parent_index
    if parent is None or at is None:
        return
    copies = _copies(parent, branch, at)
    _inherit_memories(parent, branch, at, copies)
    _copy_readings(parent, branch, at, copies)
    entities = {} if branch.character_id else _copy_entities(parent, branch)
    for model in (Scene, Knowledge, LedgerEntry, Arc, *([] if branch.character_id else [Relationship])):
        _copy_rows(model, parent, branch, at, copies, entities)
    _copy_digests(parent, branch, at, copies)


def _copy_entities(parent: Chat, branch: Chat) -> dict[UUID, UUID]:
    """A chat without a character has a registry of its own; the ids of the branch's entities by those of the parent."""
    rows = list(Entity.objects.for_owner(parent.owner_id).filter(chat=parent))
    made = Entity.objects.bulk_create(
        Entity(owner_id=row.owner_id, chat=branch, name=row.name, kind=row.kind, aliases=row.aliases) for row in rows
    )
    return {row.pk: copy.pk for row, copy in zip(rows, made, strict=True)}


def _copies(parent: Chat, branch: Chat, at: int) -> dict[UUID, Message]:
    """The branch's messages by those of the parent that they are copies of."""
    rows = Message.objects.for_owner(parent.owner_id).filter(chat=parent, index__lte=at)
    originals = dict(rows.values_list("index", "pk"))
    mine = Message.objects.for_owner(branch.owner_id).filter(chat=branch).with_swipes()
    return {originals[message.index]: message for message in mine if message.index in originals}


def _inherit_memories(parent: Chat, branch: Chat, at: int, copies: dict[UUID, Message]) -> None:
    rows = [*_own_memories(parent, branch, at, copies), *_inherited_memories(parent, branch, at, copies)]
    Inheritance.objects.bulk_create(rows, ignore_conflicts=True)


def _own_memories(parent: Chat, branch: Chat, at: int, copies: dict[UUID, Message]) -> Iterable[Inheritance]:
    """What the parent had learnt up to there; what was replaced later still holds in the branch."""
    told = Memory.objects.for_owner(parent.owner_id).present().filter(chat=parent)
    told = told.filter(Q(valid_from=None) | Q(valid_from__index__lte=at)).exclude(state=Memory.State.RETIRED)
    sources: dict[UUID, list[UUID]] = {}
    links = MemorySource.objects.for_owner(parent.owner_id).filter(memory__in=told, lost=False)
    for memory_id, message_id in links.values_list("memory_id", "message_id"):
        if message_id in copies:
            sources.setdefault(memory_id, []).append(copies[message_id].pk)
    for memory in told.select_related("valid_to").defer("embedding", "lexemes"):
        replaced = memory.valid_to is not None and memory.valid_to.pk in copies
        if memory.state == Memory.State.SUPERSEDED and memory.valid_to is None:
            replaced = True
        yield Inheritance(
            owner_id=branch.owner_id,
            chat=branch,
            memory=memory,
            message_ids=sources.get(memory.pk, []),
            state=Memory.State.SUPERSEDED if replaced else Memory.State.ACTIVE,
            superseded_by_id=memory.superseded_by_id if replaced else None,
            valid_from=copies.get(memory.valid_from_id) if memory.valid_from_id else None,
            valid_to=copies[memory.valid_to.pk] if replaced and memory.valid_to else None,
        )


def _inherited_memories(parent: Chat, branch: Chat, at: int, copies: dict[UUID, Message]) -> Iterable[Inheritance]:
    """What the parent itself had taken over, as it stood there."""
    rows = Inheritance.objects.for_owner(parent.owner_id).filter(chat=parent)
    for row in rows.filter(Q(valid_from=None) | Q(valid_from__index__lte=at)).exclude(state=Memory.State.RETIRED):
        replaced = row.valid_to_id is not None and row.valid_to_id in copies
        yield Inheritance(
            owner_id=branch.owner_id,
            chat=branch,
            memory_id=row.memory_id,
            message_ids=[copies[pk].pk for pk in row.message_ids if pk in copies],
            state=Memory.State.SUPERSEDED if replaced else Memory.State.ACTIVE,
            superseded_by_id=row.superseded_by_id if replaced else None,
            valid_from=copies.get(row.valid_from_id) if row.valid_from_id else None,
            valid_to=copies[row.valid_to_id] if replaced and row.valid_to_id else None,
        )


def _copy_readings(parent: Chat, branch: Chat, at: int, copies: dict[UUID, Message]) -> None:
    """What had been read of the parent has been read of its copy."""
    rows = Reading.objects.for_owner(parent.owner_id).filter(message__in=copies)
    Reading.objects.bulk_create(
        Reading(
            owner_id=branch.owner_id,
            chat=branch,
            message=copies[row.message_id],
            fingerprint=fingerprint_of(copies[row.message_id]),
            tiers=row.tiers,
        )
        for row in rows
    )


def _copy_rows(
    model: Any, parent: Chat, branch: Chat, at: int, copies: dict[UUID, Message], entities: dict[UUID, UUID]
) -> None:
    """Rows that began up to there, open where they ended later."""
    rows = model.objects.for_owner(parent.owner_id).filter(chat=parent).exclude(state="retired")
    model.objects.bulk_create(
        _copied(row, branch, copies, entities)
        for row in rows.filter(Q(source=None) | Q(source__index__lte=at)).order_by("pk")
    )


_OPEN_AGAIN = {"replaced": "current", "cleared": "current", "removed": "current", "resolved": "open"}


def _copied(row: Any, branch: Chat, copies: dict[UUID, Message], entities: dict[UUID, UUID]) -> Any:
    values = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in ("id", "chat", *_COMMON)
    }
    values |= {name: entities.get(values[name], values[name]) for name in _ENTITIES if name in values}
    values |= {"line_hash": ""} if "line_hash" in values else {}
    source, until = copies.get(row.source_id), copies.get(row.until_id)
    if row.until_id is not None and until is None:
        values["state"] = _OPEN_AGAIN.get(row.state, row.state)
    return type(row)(
        **values,
        chat=branch,
        source=source,
        swipe=source.active_swipe if source else None,
        until=until,
        until_swipe=until.active_swipe if until else None,
    )


def _copy_digests(parent: Chat, branch: Chat, at: int, copies: dict[UUID, Message]) -> None:
    """The last versions that hold nothing of what came after."""
    rows = Digest.objects.for_owner(parent.owner_id).filter(chat=parent, source__index__lte=at)
    latest: dict[tuple[str, UUID | None], Digest] = {}
    for row in rows.exclude(state=Digest.State.RETIRED).order_by("version"):
        latest[row.kind, row.character_id] = row
    for row in latest.values():
        copy = _copied(row, branch, copies, {})
        copy.state = Digest.State.CURRENT
        copy.save()
