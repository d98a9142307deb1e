"""Move what is remembered of a character to another one, when the two are merged."""

from typing import Any

from apps.chats.models import Character
from apps.memories.models import Arc, Entity, Memory, VersionedText
from apps.memories.operations.entities import move_references


def on_characters_merged(*, character: Character, into: Character, **kwargs: Any) -> None:
    """Receive ``characters_merged``: move memories, arcs, entities and texts. ``character`` is about to be deleted.

    Of two entities with the same name one stays, with all that refers to either. Of two current texts about the same,
    that of ``into`` stays current.
    """
    owner_id = character.owner_id
    Memory.with_bin.for_owner(owner_id).filter(character=character).update(character=into)
    Arc.objects.for_owner(owner_id).filter(character=character).update(character=into)
    for entity in Entity.objects.for_owner(owner_id).filter(character=character).order_by("pk"):
        registry = Entity.objects.for_owner(owner_id).filter(character=into, chat=None)
        namesake = registry.filter(name__iexact=entity.name).first()
        if namesake is None:
            Entity.objects.for_owner(owner_id).filter(pk=entity.pk).update(character=into)
        else:
            move_references(entity, namesake)
    for text in VersionedText.objects.for_owner(owner_id).filter(character=character).order_by("pk"):
        text.character = into
        if text.state == VersionedText.State.CURRENT and _has_current(text):
            text.state = VersionedText.State.REPLACED
        text.save(update_fields=["character", "state", "updated_at"])


def _has_current(text: VersionedText) -> bool:
    """Return whether another text of the same kind is current for its character, chat and story."""
    current = VersionedText.objects.for_owner(text.owner_id).filter(state=VersionedText.State.CURRENT, kind=text.kind)
    return current.filter(character=text.character_id, chat=text.chat_id, story=text.story).exists()
