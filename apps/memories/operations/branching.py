"""Let a branch inherit what its parent had learnt up to the message where the two diverge."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from apps.chats.models import Chat, Message, Swipe
from apps.memories.kinds import LAYERS, entries_of
from apps.memories.models import (
    RETIRED,
    Ending,
    Entity,
    Inheritance,
    LayerEntry,
    Memory,
    MemorySource,
)
from apps.memories.operations.memories import link_sources

MessageCopies = Mapping[UUID | None, UUID]  # ids of the branch's messages by those of the parent's


def inherit(branch: Chat) -> None:
    """Write what a branch inherits from its parent: references to memories, and copies of layer entries.

    Must be called in the transaction that creates the branch, after the parent's own invalidation.
    """
    parent, at = branch.parent, branch.parent_index
    if parent is None or at is None:
        return
    copies = _message_copies(parent, branch, at)
    rows = [*_own_memories(parent, branch, at, copies), *_inherited_memories(parent, branch, at, copies)]
    Inheritance.objects.bulk_create(rows, ignore_conflicts=True)
    entities = {} if branch.character_id else _copy_entities(parent, branch)
    for model in LAYERS:
        _copy_entries(model, branch, _entries_up_to(model, parent, at), copies, entities)
    _inherit_endings(parent, branch, copies)
    _inherit_confirmations(branch, copies)


def _message_copies(parent: Chat, branch: Chat, at: int) -> dict[UUID | None, UUID]:
    """Return the ids of the branch's messages by those of the parent's messages, matched by index."""
    rows = Message.objects.for_owner(parent.owner_id).filter(chat=parent, index__lte=at)
    originals = dict(rows.values_list("index", "pk"))
    copied = Message.objects.for_owner(branch.owner_id).filter(chat=branch).values_list("index", "pk")
    return {originals[index]: pk for index, pk in copied if index in originals}


def _copy_entities(parent: Chat, branch: Chat) -> dict[UUID, UUID]:
    """Copy the registry of a chat without a character. Return the copies' ids by those of the originals."""
    rows = list(Entity.objects.for_owner(parent.owner_id).filter(chat=parent))
    created = Entity.objects.bulk_create(
        Entity(owner_id=row.owner_id, chat=branch, name=row.name, kind=row.kind, aliases=row.aliases) for row in rows
    )
    return {row.pk: copy.pk for row, copy in zip(rows, created, strict=True)}


# A memory of a run without a source in the branch could come from what was said later. Deleted memories are inherited
# in any case, so that nothing is learnt again in a branch that a person has deleted.
_NEEDS_NO_SOURCE = Q(run=None) | ~Q(edited_by="") | Q(deleted_at__isnull=False)


def _own_memories(parent: Chat, branch: Chat, at: int, copies: MessageCopies) -> Iterable[Inheritance]:
    """Yield inheritances of what the parent itself had learnt up to the message at index ``at``."""
    learnt = Memory.objects.for_owner(parent.owner_id).filter(Memory.has_begun(at), chat=parent)
    learnt = learnt.exclude(state=Memory.State.RETIRED, deleted_at=None)
    sources: dict[UUID, list[UUID]] = {}
    links = MemorySource.objects.for_owner(parent.owner_id).filter(memory__in=learnt, lost=False)
    for memory_id, message_id in links.values_list("memory_id", "message_id"):
        if message_id in copies:
            sources.setdefault(memory_id, []).append(copies[message_id])
    rows = learnt.filter(_NEEDS_NO_SOURCE | Q(pk__in=sources)).select_related("superseded_by")
    for memory in rows.defer("embedding", "lexemes"):
        yield _inheritance(branch, memory.pk, memory, copies, sources.get(memory.pk, []))


def _inherited_memories(parent: Chat, branch: Chat, at: int, copies: MessageCopies) -> Iterable[Inheritance]:
    """Yield inheritances of what the parent, a branch itself, had inherited."""
    rows = Inheritance.objects.for_owner(parent.owner_id).filter(Memory.has_begun(at), chat=parent)  # the same columns
    rows = rows.exclude(state=Memory.State.RETIRED, memory__deleted_at=None).select_related("superseded_by")
    needs_no_source = Memory.objects.for_owner(parent.owner_id).filter(_NEEDS_NO_SOURCE, inheritances__chat=parent)
    without_source = set(needs_no_source.values_list("pk", flat=True))
    for row in rows:
        sources = [copies[pk] for pk in row.message_ids if pk in copies]
        if sources or row.memory_id in without_source:
            yield _inheritance(branch, row.memory_id, row, copies, sources)


def _inheritance(
    branch: Chat, memory_id: UUID, original: Memory | Inheritance, copies: MessageCopies, sources: list[UUID]
) -> Inheritance:
    """Return the inheritance of a memory by its row in the parent.

    A memory that the parent superseded after the branch point is still active in the branch. What another story
    replaced is active too: supersessions say what the branch sees of that.
    """
    successor = original.superseded_by
    state, superseded = original.state, original.state == Memory.State.SUPERSEDED
    if superseded and (
        (original.valid_to_id is not None and original.valid_to_id not in copies)
        or (successor is not None and successor.story != branch.story)
    ):
        state, superseded = Memory.State.ACTIVE, False
    return Inheritance(
        owner_id=branch.owner_id,
        chat=branch,
        memory_id=memory_id,
        message_ids=sources,
        confidence=original.confidence,
        state=state,
        retired_reason=original.retired_reason if state == Memory.State.RETIRED else "",
        superseded_by=successor if superseded else None,
        valid_from_id=copies.get(original.valid_from_id),
        valid_to_id=copies.get(original.valid_to_id) if superseded else None,
    )


def _entries_up_to(model: type[LayerEntry], parent: Chat, at: int) -> list[Any]:
    """Return the entries that began up to index ``at``, ended or not, but not retired; of versions the last one."""
    rows = entries_of(model, parent).filter(model.has_begun(at))
    rows = rows.exclude(Q(state=RETIRED) & ~model.life.ended)
    if not model.life.versioned:
        return list(rows.order_by("pk"))
    latest: dict[tuple[Any, ...], Any] = {}
    for row in rows.filter(source__isnull=False).order_by("version"):
        latest[tuple(getattr(row, name) for name in model.life.slot)] = row
        row.state = model.life.holds  # also where the parent has a later one
    return list(latest.values())


def _copy_entries(
    model: type[LayerEntry], branch: Chat, rows: list[Any], copies: MessageCopies, entities: Mapping[UUID, UUID]
) -> None:
    """Copy entries of the parent, with what other stories have ended of them. Those that ended later hold."""
    swipes = _active_swipes(branch, rows, copies)
    created = model.objects.bulk_create([_copy_of(row, branch, copies, entities, swipes) for row in rows])
    if ending := model.ending_field():
        copied = {row.pk: copy.pk for row, copy in zip(rows, created, strict=True)}
        ended = Ending.objects.for_owner(branch.owner_id).filter(**{f"{ending}__in": copied})
        _copy_endings((one, {f"{ending}_id": copied[getattr(one, f"{ending}_id")]}) for one in ended)


def _inherit_endings(parent: Chat, branch: Chat, copies: MessageCopies) -> None:
    """Let the branch end what its parent had ended of other stories."""
    ended = Ending.objects.for_owner(parent.owner_id).filter(chat=parent, message__in=[pk for pk in copies if pk])
    _copy_endings((ending, {"chat_id": branch.pk, "message_id": copies[ending.message_id]}) for ending in ended)


def _inherit_confirmations(branch: Chat, copies: MessageCopies) -> None:
    """Let the branch confirm the memories of other stories that its parent had confirmed."""
    links = MemorySource.objects.for_owner(branch.owner_id).filter(message__in=[pk for pk in copies if pk], lost=False)
    confirmed = list(links.exclude(memory__story=branch.story).exclude(memory__in=branch.inheritances.values("memory")))
    messages = Message.objects.for_owner(branch.owner_id).filter(pk__in=[copies[link.message_id] for link in confirmed])
    by_id = {message.pk: message for message in messages.with_swipes()}
    for link in confirmed:
        link_sources(branch.owner_id, link.memory_id, [by_id[copies[link.message_id]]])


def _copy_endings(endings: Iterable[tuple[Ending, Mapping[str, UUID]]]) -> None:
    """Copy endings, each with some columns changed."""
    names = [field.attname for field in Ending._meta.concrete_fields if field.name != "id"]
    Ending.objects.bulk_create(
        Ending(**{**{name: getattr(ending, name) for name in names}, **changes}) for ending, changes in endings
    )


def _active_swipes(branch: Chat, rows: Iterable[Any], copies: MessageCopies) -> dict[UUID | None, UUID]:
    """Return the ids of active swipes by the ids of the copied messages that the rows refer to."""
    ids = {copies[pk] for row in rows for pk in (row.source_id, row.until_id) if pk in copies}
    active = Swipe.objects.for_owner(branch.owner_id).filter(message__in=ids, position=F("message__swipe_id"))
    return dict(active.values_list("message_id", "pk"))


def _copy_of(
    row: Any, branch: Chat, copies: MessageCopies, entities: Mapping[UUID, UUID], swipes: Mapping[UUID | None, UUID]
) -> Any:
    """Return an unsaved copy of a layer entry for the branch, with the branch's messages, swipes and entities."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields if field.name != "id"}
    for field in row._meta.concrete_fields:
        if field.related_model is Message:
            values[field.attname] = copies.get(values[field.attname])
        elif field.related_model is Entity:
            values[field.attname] = entities.get(values[field.attname], values[field.attname])
    values |= {"chat_id": branch.pk, "swipe_id": swipes.get(values["source_id"])}
    values |= {"until_swipe_id": swipes.get(values["until_id"])}
    values |= {"line_hash": ""} if "line_hash" in values else {}
    if row.until_id is not None and values["until_id"] is None:
        values |= {"state": row.life.holds, "retired_reason": "", "retired_by": ""}
    return type(row)(**values)
