"""Keep what is remembered of a character with it: under another name, and when it is merged with another one."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat
from apps.common.problems import Invalid
from apps.common.scoping import Owner
from apps.memories.kinds import OF_CHARACTER
from apps.memories.models import REPLACED, Entity
from apps.memories.operations.entities import edit_entity, move_references
from apps.memories.operations.layer_entries import has_current_counterpart


def on_character_renamed(*, character: Character, former: str, **kwargs: Any) -> None:
    """Receive ``character_renamed``: rename the person of that name in the character's registry, and in its groups.

    The former name becomes an alias, by which what is read later finds the person. Where another one has the new name
    already, both stay as they are: a person may merge them.
    """
    registries = Q(character=character) | Q(chat__participants__character=character)
    _rename_people(character.owner_id, registries, former, character.name)


def on_persona_renamed(*, name: str, former: str, chats: Sequence[Chat], **kwargs: Any) -> None:
    """Receive ``persona_renamed``: rename the person of that name in the registries of the chats, likewise."""
    for chat in chats:
        registry = Q(character=chat.character_id) if chat.character_id else Q(chat=chat)
        members = Q(character__participations__chat=chat)
        _rename_people(chat.owner_id, registry | members, former, name)


def _rename_people(owner: Owner, registries: Q, former: str, name: str) -> None:
    people = Entity.objects.for_owner(owner).filter(
        registries, name__iexact=former, kind__in=(Entity.Kind.CHARACTER, Entity.Kind.UNKNOWN)
    )
    for person in people.order_by("pk").distinct():
        with suppress(Invalid):
            edit_entity(person, name=name)


def on_characters_merged(*, character: Character, into: Character, **kwargs: Any) -> None:
    """Receive ``characters_merged``: move what is remembered, and entities. ``character`` is about to be deleted.

    Of two entities with the same name one stays, with all that refers to either. Of two rows that hold in one slot,
    such as current texts about the same, that of ``into`` still holds.
    """
    owner_id = character.owner_id
    for entity in Entity.objects.for_owner(owner_id).filter(character=character).order_by("pk"):
        registry = Entity.objects.for_owner(owner_id).filter(character=into, chat=None)
        namesake = registry.filter(name__iexact=entity.name).first()
        if namesake is None:
            Entity.objects.for_owner(owner_id).filter(pk=entity.pk).update(character=into)
        else:
            move_references(entity, namesake)
    for model in OF_CHARACTER:
        rows: QuerySet[Any] = model._base_manager.filter(owner=owner_id, character=character)  # also in the bin
        if not model.life.slot:
            rows.update(character=into)
            continue
        for row in rows.order_by("pk"):
            row.character = into
            if row.state == model.life.holds and has_current_counterpart(row):
                row.state = REPLACED
            row.save(update_fields=["character", "state", "updated_at"])
