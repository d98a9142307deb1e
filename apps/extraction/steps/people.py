"""The people that a stage may name, with their aliases."""

from collections.abc import Iterable, Mapping

from apps.chats.models import Character
from apps.extraction.steps.context import Context
from apps.memories.models import Entity
from apps.memories.queries.entities import registry_of
from apps.search.questions import mentions


def known_people(context: Context, character: Character | None) -> list[Entity]:
    """Return the people of a registry, newest first: the character's, else the chat's."""
    return list(registry_of(context.chat, character).filter(kind=Entity.Kind.CHARACTER).order_by("-pk"))


def known_things(context: Context, character: Character | None) -> set[str]:
    """Return the casefolded names of the places, objects, groups and concepts of the same registry."""
    things = registry_of(context.chat, character).exclude(kind__in=(Entity.Kind.CHARACTER, Entity.Kind.UNKNOWN))
    rows = things.values_list("name", "aliases")
    return {name.casefold() for thing, aliases in rows for name in (thing, *aliases)}


def is_named(person: Entity, text: str) -> bool:
    """Return whether a text names a person, by the name or an alias."""
    return any(mentions(text, name) for name in [person.name, *person.aliases])


def canonical_names(speakers: Iterable[str], people: Iterable[Entity]) -> Mapping[str, str]:
    """Return the name of each person by casefolded name and alias."""
    names = {name.casefold(): name for name in speakers}
    for person in people:
        names |= {name.casefold(): person.name for name in [*person.aliases, person.name]}
    return names
