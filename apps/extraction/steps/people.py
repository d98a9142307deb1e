"""The people that a stage may name, with their aliases."""

from collections.abc import Iterable, Mapping

from django.db.models import Q

from apps.chats.models import Character
from apps.extraction.steps.context import Context
from apps.memories.models import Entity
from apps.search.questions import mentions


def known_people(context: Context, character: Character | None) -> list[Entity]:
    """Return the people of a registry, newest first: the character's, else the chat's."""
    character_id = character.pk if character else context.chat.character_id
    scope = Q(character=character_id) if character_id else Q(chat=context.chat)
    rows = Entity.objects.for_owner(context.owner_id).filter(scope, kind=Entity.Kind.CHARACTER)
    return list(rows.order_by("-pk"))


def known_things(context: Context, character: Character | None) -> set[str]:
    """Return the casefolded names of the places, objects, groups and concepts of the same registry."""
    character_id = character.pk if character else context.chat.character_id
    scope = Q(character=character_id) if character_id else Q(chat=context.chat)
    rows = Entity.objects.for_owner(context.owner_id).filter(scope)
    things = rows.exclude(kind__in=(Entity.Kind.CHARACTER, Entity.Kind.UNKNOWN)).values_list("name", "aliases")
    return {name.casefold() for thing, aliases in things for name in (thing, *aliases)}


def is_named(person: Entity, text: str) -> bool:
    """Return whether a text names a person, by the name or an alias."""
    return any(mentions(text, name) for name in [person.name, *person.aliases])


def canonical_names(speakers: Iterable[str], people: Iterable[Entity]) -> Mapping[str, str]:
    """Return the name of each person by casefolded name and alias."""
    names = {name.casefold(): name for name in speakers}
    for person in people:
        names |= {name.casefold(): person.name for name in [*person.aliases, person.name]}
    return names
