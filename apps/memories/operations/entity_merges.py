"""Merge entities, undo a merge, and split an entity in two."""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.core import serializers
from django.db import transaction
from django.utils.translation import gettext

from apps.common.problems import Conflict, Invalid, Missing
from apps.memories.kinds import LAYERS
from apps.memories.models import REPLACED, Entity, EntityMerge, Memory, Relationship
from apps.memories.models.life import Life
from apps.memories.operations.entities import entries_naming, move_references
from apps.memories.operations.layer_entries import has_current_counterpart


@transaction.atomic
def merge_entities(entity: Entity, into: Entity) -> Entity:
    """Move everything that refers to ``entity`` to ``into``, add its names as aliases, and delete it.

    ``undo_merge`` takes it back; earlier merges into ``entity`` can't be undone any more. Raise Invalid if the two are
    not different entities of one registry, Missing if one was deleted meanwhile.
    """
    if entity.pk == into.pk or (entity.character_id, entity.chat_id) != (into.character_id, into.chat_id):
        raise Invalid.at("/into", gettext("It must be another entity of the same registry."))
    entity, into = _locked([entity, into])
    document = _record_of(entity, into)
    merged = move_references(entity, into)
    EntityMerge.objects.create(owner_id=into.owner_id, into=into, name=document["entity"]["name"], document=document)
    return merged


def _locked(entities: Collection[Entity]) -> list[Entity]:
    """Return the entities as they are now, locked in one order. Raise Missing."""
    ids = [entity.pk for entity in entities]
    rows = Entity.objects.for_owner(next(iter(entities)).owner_id).filter(pk__in=ids).select_for_update()
    found = {row.pk: row for row in rows.order_by("pk")}
    if len(found) < len(ids):
        raise Missing(gettext("There is no such entity."))
    return [found[pk] for pk in ids]


def _record_of(entity: Entity, into: Entity) -> dict[str, Any]:
    """Return the state of both entities, and of all that refers to the one that goes, as JSON."""
    links = Memory.entities.through.objects
    linked = {end.pk: set(links.filter(entity=end).values_list("memory_id", flat=True)) for end in (entity, into)}
    rows = [row for model in LAYERS for row in entries_naming(model, entity)]
    return {
        "entity": {"id": str(entity.pk), "name": entity.name, "kind": entity.kind, "aliases": entity.aliases},
        "into": {"kind": into.kind, "aliases": into.aliases},
        "memories": sorted(map(str, linked[entity.pk])),
        "shared": sorted(map(str, linked[entity.pk] & linked[into.pk])),
        "rows": serializers.serialize("json", rows),
    }


@transaction.atomic
def undo_merge(merge: EntityMerge) -> Entity:
    """Bring back the entity that was merged, with what referred to it and still exists. Return it.

    What was written since stays with the other one. Raise Missing if the merge was undone already, Conflict if another
    entity has the name now.
    """
    merge = _locked_merge(merge)
    (into,) = _locked([merge.into])
    document = merge.document
    name = document["entity"]["name"]
    registry = Entity.objects.for_owner(merge.owner_id).filter(character=into.character_id, chat=into.chat_id)
    if registry.filter(name__iexact=name).exists():
        raise Conflict(gettext("Another entity is called “%(name)s” now. Rename it first.") % {"name": name})
    entity = Entity.objects.create(
        owner_id=merge.owner_id,
        character_id=into.character_id,
        chat_id=into.chat_id,
        **document["entity"] | {"id": UUID(document["entity"]["id"])},
    )
    added = {name, *document["entity"]["aliases"]} - set(document["into"]["aliases"])
    into.aliases = [alias for alias in into.aliases if alias not in added]
    into.kind = document["into"]["kind"] if into.kind == entity.kind else into.kind
    into.save(update_fields=["aliases", "kind"])
    _move_links(entity, into, document["memories"], kept=document["shared"])
    for stored in serializers.deserialize("json", document["rows"]):
        _restore(stored.object, entity, into)
    merge.delete()
    return entity


def _locked_merge(merge: EntityMerge) -> EntityMerge:
    rows = EntityMerge.objects.for_owner(merge.owner_id).filter(pk=merge.pk)
    found = rows.select_for_update(of=("self",)).select_related("into").first()
    if found is None:
        raise Missing(gettext("This merge was undone already."))
    return found


def _move_links(entity: Entity, source: Entity, memories: Iterable[str], kept: Collection[str] = ()) -> None:
    """Link those memories that ``source`` still has to ``entity``, and unlink all but ``kept`` from ``source``."""
    links = Memory.entities.through.objects
    present = list(links.filter(entity=source, memory_id__in=list(memories)).values_list("memory_id", flat=True))
    links.bulk_create((links.model(memory_id=pk, entity_id=entity.pk) for pk in present), ignore_conflicts=True)
    links.filter(entity=source, memory_id__in=present).exclude(memory_id__in=list(kept)).delete()


def _restore(before: Any, entity: Entity, into: Entity) -> None:
    """Let a row refer to ``entity`` again, and give it the state that the merge took from it, if that is free.

    A relationship between the two, which the merge deleted, is created again.
    """
    model = type(before)
    row = model.objects.for_owner(entity.owner_id).filter(pk=before.pk).first()
    if row is None:
        if model is Relationship and into.pk in (before.subject_id, before.target_id):
            _create_again(before)
        return
    for name in model.life.names:
        if getattr(before, f"{name}_id") == entity.pk and getattr(row, f"{name}_id") == into.pk:
            setattr(row, name, entity)
    life: Life = row.life
    if before.state == life.holds and row.state == REPLACED and row.until_id == before.until_id:
        row.state = REPLACED if has_current_counterpart(row) else life.holds
    row.save(update_fields=[*model.life.names, "state", "updated_at"])


def _create_again(row: Relationship) -> None:
    """Create a deleted row, without the rows that it referred to and that are gone."""
    for field in row._meta.concrete_fields:
        if field.is_relation and field.null and getattr(row, field.attname) is not None:
            target: Any = field.related_model
            if not target._base_manager.filter(pk=getattr(row, field.attname), owner_id=row.owner_id).exists():
                setattr(row, field.attname, None)
    if not (row.state == Relationship.State.CURRENT and has_current_counterpart(row)):
        row.save(force_insert=True)


@transaction.atomic
def split_entity(entity: Entity, *, name: str, memories: Collection[UUID], kind: str = "", aliases: Any = ()) -> Entity:
    """Create another entity of the registry, with those of its memories and aliases. Return the new one.

    Merging the two takes it back. Raise Invalid if the name is taken, or an alias or a memory is not the entity's.
    """
    (entity,) = _locked([entity])
    registry = Entity.objects.for_owner(entity.owner_id).filter(character=entity.character_id, chat=entity.chat_id)
    if registry.filter(name__iexact=name).exists():
        raise Invalid.at("/name", gettext("Another entity has this name."))
    if unknown := [alias for alias in aliases if alias not in entity.aliases]:
        raise Invalid.at("/aliases", gettext("“%(value)s” is not one of its names.") % {"value": unknown[0]})
    links = Memory.entities.through.objects
    own = set(links.filter(entity=entity, memory_id__in=memories).values_list("memory_id", flat=True))
    if own != set(memories):
        raise Invalid.at("/memories", gettext("A memory of these does not name it."))
    new = Entity.objects.create(
        owner_id=entity.owner_id,
        character_id=entity.character_id,
        chat_id=entity.chat_id,
        name=name,
        kind=kind or entity.kind,
        aliases=[alias for alias in aliases if alias != name],
    )
    _move_links(new, entity, list(map(str, memories)))
    gone = {*aliases, name}
    entity.aliases = [alias for alias in entity.aliases if alias not in gone]
    entity.save(update_fields=["aliases"])
    return new
