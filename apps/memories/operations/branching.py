"""What a branch takes over from its parent, as it stood when they parted."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from apps.chats.models import Chat, Message, Swipe
from apps.memories.models import (
    Arc,
    Entity,
    Inheritance,
    Knowledge,
    LedgerEntry,
    Memory,
    MemorySource,
    Relationship,
    Scene,
    VersionedText,
)

Copies = Mapping[UUID | None, UUID]  # the ids of the branch's messages by those of the parent

_ENTITIES = ("entity_id", "subject_id", "target_id")
_OPEN_AGAIN = {
    "replaced": "current",
    "cleared": "current",
    "removed": "current",
    "resolved": "open",
    "retired": "active",
}
_COMMON = ("source", "swipe", "until", "until_swipe")


def inherit(branch: Chat) -> None:
    """Give a branch what its parent remembers: memories by reference, all other layers as copies.

    Call it in the transaction that makes the branch, after the parent's own invalidation.
    """
    parent, at = branch.parent, branch.parent_index
    if parent is None or at is None:
        return
    copies = _copies(parent, branch, at)
    _inherit_memories(parent, branch, at, copies)
    entities = {} if branch.character_id else _copy_entities(parent, branch)
    for model in (Scene, Knowledge, LedgerEntry, Arc, Relationship):
        _copy_rows(model, parent, branch, at, copies, entities)
    _copy_digests(parent, branch, at, copies)


def _copies(parent: Chat, branch: Chat, at: int) -> dict[UUID | None, UUID]:
    """The ids of the branch's messages by those of the parent that they are copies of."""
    rows = Message.objects.for_owner(parent.owner_id).filter(chat=parent, index__lte=at)
    originals = dict(rows.values_list("index", "pk"))
    mine = Message.objects.for_owner(branch.owner_id).filter(chat=branch).values_list("index", "pk")
    return {originals[index]: pk for index, pk in mine if index in originals}


def _copy_entities(parent: Chat, branch: Chat) -> dict[UUID, UUID]:
    """A chat without a character has a registry of its own; the ids of the branch's entities by those of the parent."""
    rows = list(Entity.objects.for_owner(parent.owner_id).filter(chat=parent))
    made = Entity.objects.bulk_create(
        Entity(owner_id=row.owner_id, chat=branch, name=row.name, kind=row.kind, aliases=row.aliases) for row in rows
    )
    return {row.pk: copy.pk for row, copy in zip(rows, made, strict=True)}


def _inherit_memories(parent: Chat, branch: Chat, at: int, copies: Copies) -> None:
    rows = [*_own_memories(parent, branch, at, copies), *_inherited_memories(parent, branch, at, copies)]
    Inheritance.objects.bulk_create(rows, ignore_conflicts=True)


def _own_memories(parent: Chat, branch: Chat, at: int, copies: Copies) -> Iterable[Inheritance]:
    """What the parent had learnt up to there; what was replaced later still holds in the branch."""
    told = Memory.objects.for_owner(parent.owner_id).present().filter(chat=parent)
    told = told.filter(Q(valid_from=None) | Q(valid_from__index__lte=at)).exclude(state=Memory.State.RETIRED)
    sources: dict[UUID, list[UUID]] = {}
    links = MemorySource.objects.for_owner(parent.owner_id).filter(memory__in=told, lost=False)
    for memory_id, message_id in links.values_list("memory_id", "message_id"):
        if message_id in copies:
            sources.setdefault(memory_id, []).append(copies[message_id])
    for memory in told.defer("embedding", "lexemes"):
        over = memory.state == Memory.State.SUPERSEDED
        replaced = over and (memory.valid_to_id is None or memory.valid_to_id in copies)
        yield _inherited(branch, memory.pk, memory, copies, sources.get(memory.pk, []), replaced=replaced)


def _inherited_memories(parent: Chat, branch: Chat, at: int, copies: Copies) -> Iterable[Inheritance]:
    """What the parent itself had taken over, as it stood there."""
    rows = Inheritance.objects.for_owner(parent.owner_id).filter(chat=parent)
    for row in rows.filter(Q(valid_from=None) | Q(valid_from__index__lte=at)).exclude(state=Memory.State.RETIRED):
        over = row.state == Memory.State.SUPERSEDED
        replaced = over and (row.valid_to_id is None or row.valid_to_id in copies)
        ids = [copies[pk] for pk in row.message_ids if pk in copies]
        yield _inherited(branch, row.memory_id, row, copies, ids, replaced=replaced)


def _inherited(
    branch: Chat, memory_id: UUID, stood: Memory | Inheritance, copies: Copies, sources: list[UUID], *, replaced: bool
) -> Inheritance:
    """A memory as it ``stood`` in the parent, with the branch's own messages."""
    return Inheritance(
        owner_id=branch.owner_id,
        chat=branch,
        memory_id=memory_id,
        message_ids=sources,
        state=Memory.State.SUPERSEDED if replaced else Memory.State.ACTIVE,
        superseded_by_id=stood.superseded_by_id if replaced else None,
        valid_from_id=copies.get(stood.valid_from_id),
        valid_to_id=copies.get(stood.valid_to_id) if replaced else None,
    )


def _copy_rows(model: Any, parent: Chat, branch: Chat, at: int, copies: Copies, entities: Mapping[UUID, UUID]) -> None:
    """Rows that began up to there, open where they ended later."""
    rows = model.objects.for_owner(parent.owner_id).filter(chat=parent)
    rows = rows.exclude(Q(state="retired") & ~Q(retired_reason="outdated", until__index__gt=at))
    rows = list(rows.filter(Q(source=None) | Q(source__index__lte=at)).order_by("pk"))
    swipes = _active_swipes(branch, rows, copies)
    model.objects.bulk_create(_copied(row, branch, copies, entities, swipes) for row in rows)


def _active_swipes(branch: Chat, rows: Iterable[Any], copies: Copies) -> dict[UUID | None, UUID]:
    """The active swipe of each copy that rows refer to."""
    ids = {copies[pk] for row in rows for pk in (row.source_id, row.until_id) if pk in copies}
    active = Swipe.objects.for_owner(branch.owner_id).filter(message__in=ids, position=F("message__swipe_id"))
    return dict(active.values_list("message_id", "pk"))


def _copied(
    row: Any, branch: Chat, copies: Copies, entities: Mapping[UUID, UUID], swipes: Mapping[UUID | None, UUID]
) -> Any:
    values = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in ("id", "chat", *_COMMON)
    }
    values |= {name: entities.get(values[name], values[name]) for name in _ENTITIES if name in values}
    values |= {"line_hash": ""} if "line_hash" in values else {}
    source, until = copies.get(row.source_id), copies.get(row.until_id)
    if row.until_id is not None and until is None:
        values |= {"state": _OPEN_AGAIN.get(row.state, row.state), "retired_reason": ""}
    return type(row)(
        **values,
        chat=branch,
        source_id=source,
        swipe_id=swipes.get(source),
        until_id=until,
        until_swipe_id=swipes.get(until),
    )


def _copy_digests(parent: Chat, branch: Chat, at: int, copies: Copies) -> None:
    """The last versions that hold nothing of what came after."""
    rows = VersionedText.objects.for_owner(parent.owner_id).filter(chat=parent, source__index__lte=at)
    latest: dict[tuple[str, UUID | None], VersionedText] = {}
    for row in rows.exclude(state=VersionedText.State.RETIRED).order_by("version"):
        latest[row.kind, row.character_id] = row
    swipes = _active_swipes(branch, latest.values(), copies)
    for row in latest.values():
        copy = _copied(row, branch, copies, {}, swipes)
        copy.state = VersionedText.State.CURRENT
        copy.save()
