"""The registry of people and things that memories speak of, as pages show it."""

from typing import Any

from django.db.models import Count, Q

from apps.chats.models import Character, Chat
from apps.memories.models import Entity, Memory


def entities_in(chat: Chat) -> Any:
    """The registry of the chat's character, or of the chat where it has none, with how many memories name each."""
    if chat.character:
        return entities_of(chat.character)
    return _counted(Entity.objects.for_owner(chat.owner_id).filter(chat=chat))


def entities_of(character: Character) -> Any:
    return _counted(Entity.objects.for_owner(character.owner_id).filter(character=character))


def _counted(rows: Any) -> Any:
    standing = Q(memories__state=Memory.State.ACTIVE, memories__deleted_at=None)
    return rows.annotate(count=Count("memories", filter=standing, distinct=True)).order_by("-count", "name")


def siblings_of(entity: Entity) -> Any:
    """The others of its registry, by name: those that it can be merged into."""
    rows = Entity.objects.for_owner(entity.owner_id).filter(character=entity.character_id, chat=entity.chat_id)
    return rows.exclude(pk=entity.pk).order_by("name")
