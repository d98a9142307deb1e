"""Look up, create and edit entities in their registries, and move what refers to them."""

from collections.abc import Iterable
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Upper
from django.utils.translation import gettext

from apps.chats.models import Character, Chat
from apps.common.problems import Invalid
from apps.common.scoping import Owner, owner_id_of
from apps.english.names import is_personal_name
from apps.memories.candidates import NamedEntity
from apps.memories.kinds import LAYERS, NAMING
from apps.memories.models import REPLACED, Entity, LayerEntry, Memory, Relationship
from apps.memories.models.life import Life
from apps.memories.operations.layer_entries import has_current_counterpart
from apps.memories.operations.renaming import rename_in_memories

MAX_ALIASES = 50  # that a document may add to
PERSON_KINDS = (Entity.Kind.CHARACTER, Entity.Kind.UNKNOWN)


def get_or_create_entities(
    chat: Chat, named: Iterable[NamedEntity], character: Character | None = None
) -> list[Entity]:
    """Return the registry's entities with these names, each once. Create those that are missing."""
    return list(dict.fromkeys(get_or_create_entity(chat, item.name, item.kind, character) for item in named))


def get_or_create_entity(chat: Chat, name: str, kind: str = "unknown", character: Character | None = None) -> Entity:
    """Return the entity with this name or alias; create it if it is missing.

    The registry is that of ``character``, else of the chat's character, else of the chat. ``kind`` replaces an
    unknown kind. A first name and the full name that begins with it are one person, if the chat has one such person.
    """
    character_id = character.pk if character else chat.character_id
    scope = {"character_id": character_id, "chat": None if character_id else chat}
    registry = Entity.objects.for_owner(chat.owner_id).filter(**scope)
    # Aliases are compared as ``iexact`` compares names.
    folded = Cast(Upper(Cast("aliases", TextField())), ArrayField(TextField()))
    named = Q(name__iexact=name) | Q(folded__contains=[Upper(Value(name))])
    entity: Entity | None = registry.alias(folded=folded).filter(named).order_by("pk").first()
    if entity is None and kind in PERSON_KINDS:
        entity = _under_other_name(registry, chat, name, kind)
    if entity is None:
        entity, _ = registry.get_or_create(
            owner_id=chat.owner_id, **scope, name__iexact=name, defaults={"name": name, "kind": kind}
        )
    _set_unknown_kind(entity, kind)
    return entity


class EntityRegistry:
    """The entities of a character, or else of a chat, by names and aliases, read once: for documents with many."""

    def __init__(self, owner: Owner, character: Character | None, chat: Chat | None) -> None:
        chat = None if character else chat
        self._scope: dict[str, Any] = {"owner_id": owner_id_of(owner), "character": character, "chat": chat}
        rows = Entity.objects.for_owner(owner).filter(character=character, chat=chat)
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
        _set_unknown_kind(entity, kind)
        return entity

    def add_aliases(self, entity: Entity, aliases: Iterable[str]) -> None:
        """Add aliases that name no other entity."""
        new = [alias for alias in aliases if alias.casefold() not in self._by_name]
        new = new[: max(MAX_ALIASES - len(entity.aliases), 0)]
        if new:
            entity.aliases = [*entity.aliases, *new]
            entity.save(update_fields=["aliases"])
            self._by_name |= dict.fromkeys(map(str.casefold, new), entity)


def _set_unknown_kind(entity: Entity, kind: str) -> None:
    if entity.kind == Entity.Kind.UNKNOWN != kind:
        entity.kind = kind
        entity.save(update_fields=["kind"])


def _under_other_name(registry: QuerySet[Entity], chat: Chat, name: str, kind: str) -> Entity | None:
    """Return the person of the chat whose first name this is, or whose full name, with the name as a new alias.

    That is nobody if several share the first name, or if neither is known to be a person.
    """
    first = name.split()[0].casefold() if is_personal_name(name) else ""
    if not first:
        return None
    namesakes = [
        entity
        for entity in registry.filter(Q(name__istartswith=first) | ~Q(aliases=[]))
        if any(other.split()[:1] and other.split()[0].casefold() == first for other in (entity.name, *entity.aliases))
    ]
    if len(namesakes) != 1 or not _is_same_person(namesakes[0], name, kind, chat):
        return None
    entity = namesakes[0]
    entity.aliases = [*entity.aliases, name]
    entity.save(update_fields=["aliases"])
    return entity


def _is_same_person(entity: Entity, name: str, kind: str, chat: Chat) -> bool:
    """Return whether one name is the first word of the other, of a person, and the chat has spoken of them."""
    short, long = sorted((name, entity.name), key=len)
    if len(short.split()) > 1 or not is_personal_name(long) or Entity.Kind.CHARACTER not in (entity.kind, kind):
        return False
    if entity.kind not in PERSON_KINDS:
        return False
    rows = (model.objects.for_owner(entity.owner_id).filter(chat=chat, **{name: entity}) for model, name in NAMING)
    return any(found.exists() for found in rows)


@transaction.atomic
def edit_entity(entity: Entity, **changes: Any) -> Entity:
    """Change name, kind or aliases by hand. Unless aliases are given, the old name becomes one.

    Memories get the new name. Raise Invalid if another entity of the registry has the new name.
    """
    if "name" in changes and changes["name"].casefold() != entity.name.casefold():
        same_name = Entity.objects.for_owner(entity.owner_id).filter(
            character=entity.character_id, chat=entity.chat_id, name__iexact=changes["name"]
        )
        if same_name.exists():
            raise Invalid.at("/name", gettext("Another entity has this name. Merge the two."))
        changes.setdefault("aliases", [*entity.aliases, entity.name])
    former = entity.name
    for name, value in changes.items():
        setattr(entity, name, value)
    entity.save(update_fields=list(changes))
    if entity.name != former:
        rename_in_memories(entity, former)
    return entity


def move_references(entity: Entity, into: Entity) -> Entity:
    """Move everything that refers to ``entity`` to ``into``, add its names as aliases, and delete it.

    The two may be of two registries that become one.
    """
    links = Memory.entities.through.objects
    already_linked = links.filter(entity_id=into.pk).values("memory_id")
    links.filter(entity_id=entity.pk).exclude(memory_id__in=already_linked).update(entity_id=into.pk)
    for model in LAYERS:
        for row in entries_naming(model, entity):
            _move(row, entity, into)
    into.aliases = list(dict.fromkeys([*into.aliases, entity.name, *entity.aliases]))
    into.kind = entity.kind if into.kind == Entity.Kind.UNKNOWN else into.kind
    into.save(update_fields=["aliases", "kind"])
    entity.delete()
    return into


def entries_naming(model: type[LayerEntry], entity: Entity) -> Iterable[Any]:
    """Return the entries of a layer that name an entity, oldest first."""
    if not model.life.names:
        return ()
    names = Q(*((name, entity) for name in model.life.names), _connector=Q.OR)
    return model.objects.for_owner(entity.owner_id).filter(names).order_by("pk")


def _move(row: Any, entity: Entity, into: Entity) -> None:
    """Let an entry name ``into``. Where another one holds in its slot already, it is replaced."""
    life: Life = row.life
    if isinstance(row, Relationship) and into.pk in (row.subject_id, row.target_id):
        row.delete()  # a person says that the two are one, and nobody has a relationship with themselves
        return
    for name in life.names:
        if getattr(row, f"{name}_id") == entity.pk:
            setattr(row, name, into)
    if row.state == life.holds and has_current_counterpart(row):
        row.state = REPLACED
    row.save(update_fields=[*life.names, "state", "updated_at"])
