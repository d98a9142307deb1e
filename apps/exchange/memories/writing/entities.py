"""The registry of entities that an import adds to, read once."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from apps.chats.models import Character, Chat
from apps.exchange.memories.reading.found import FoundEntity
from apps.memories.models import Entity

MAX_ALIASES = 50


class Registry:
    """The entities of a character, or else of a chat, by their names and aliases."""

    def __init__(self, owner_id: UUID, character: Character | None, chat: Chat | None) -> None:
        chat = None if character else chat
        self._scope: dict[str, Any] = {"owner_id": owner_id, "character": character, "chat": chat}
        rows = Entity.objects.for_owner(owner_id).filter(character=character, chat=chat)
        self._by_name: dict[str, Entity] = {}
        for entity in rows.order_by("pk"):
            for name in (*entity.aliases, entity.name):
                self._by_name[name.casefold()] = entity
        self.created = 0

    def get(self, name: str, kind: str = Entity.Kind.UNKNOWN) -> Entity:
        """Return the entity with this name or alias; create it if it is missing. ``kind`` replaces an unknown kind."""
        entity = self._by_name.get(name.casefold())
        if entity is None:
            rows = Entity.objects.for_owner(self._scope["owner_id"])  # another import may have created it meanwhile
            entity, is_new = rows.get_or_create(**self._scope, name__iexact=name, defaults={"name": name, "kind": kind})
            self._by_name[name.casefold()] = entity
            self.created += is_new
        elif entity.kind == Entity.Kind.UNKNOWN != kind:
            entity.kind = kind
            entity.save(update_fields=["kind"])
        return entity

    def add(self, found: Iterable[FoundEntity]) -> None:
        """Create the entities that are missing, and add aliases that name no other entity."""
        for one in found:
            entity = self.get(one.name, one.kind)
            new = [alias for alias in one.aliases if alias.casefold() not in self._by_name]
            new = new[: max(MAX_ALIASES - len(entity.aliases), 0)]
            if new:
                entity.aliases = [*entity.aliases, *new]
                entity.save(update_fields=["aliases"])
                self._by_name |= dict.fromkeys(map(str.casefold, new), entity)
