"""Read the entity registries."""

from django.db.models import Count, QuerySet
from django.utils.translation import gettext

from apps.chats.models import Character, Chat
from apps.common.problems import Missing
from apps.memories.models import Entity, EntityMerge
from apps.memories.visibility import counts


def registry_of(chat: Chat, character: Character | None = None) -> QuerySet[Entity]:
    """Return the entities of the registry of ``character``, else of the chat's character, else of the chat."""
    character_id = character.pk if character else chat.character_id
    rows: QuerySet[Entity] = Entity.objects.for_owner(chat.owner_id)
    return rows.filter(character=character_id) if character_id else rows.filter(chat=chat)


def entities_in(chat: Chat) -> QuerySet[Entity]:
    """Return the registry of the chat's character, or of the chat if it has none, with memory counts."""
    return _with_counts(registry_of(chat))


def entities_of(character: Character) -> QuerySet[Entity]:
    """Return the character's registry with memory counts."""
    return _with_counts(Entity.objects.for_owner(character.owner_id).filter(character=character))


def _with_counts(rows: QuerySet[Entity]) -> QuerySet[Entity]:
    """Annotate entities with ``count``, their number of active memories, and order by it, largest first."""
    return rows.annotate(count=Count("memories", filter=counts("memories__"), distinct=True)).order_by("-count", "name")


def merge_targets(entity: Entity) -> QuerySet[Entity]:
    """Return the other entities of the same registry by name."""
    rows: QuerySet[Entity] = Entity.objects.for_owner(entity.owner_id).filter(
        character=entity.character_id, chat=entity.chat_id
    )
    return rows.exclude(pk=entity.pk).order_by("name")


def merges_into(entity: Entity) -> QuerySet[EntityMerge]:
    """Return the merges into an entity that can be undone, newest first."""
    rows: QuerySet[EntityMerge] = EntityMerge.objects.for_owner(entity.owner_id).filter(into=entity)
    return rows.order_by("-pk")


def newest_merge(entity: Entity) -> EntityMerge:
    """Return the newest merge into an entity. Raise Missing if there is none."""
    merge = merges_into(entity).first()
    if merge is None:
        raise Missing(gettext("Nothing was merged into it that can be taken out again."))
    return merge
