"""Characters and lorebooks as their owner sees them."""

from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Count, Exists, OuterRef

from apps.chats.models import Character, CharacterImage, Lorebook
from apps.common.problems import Missing


def access_character(owner: Any, character_id: UUID) -> Character:
    """The owner's character. Raises Missing."""
    found = Character.objects.for_owner(owner).filter(pk=character_id).first()
    if found is None:
        raise Missing("There is no such character.")
    return found


def access_lorebook(owner: Any, lorebook_id: UUID) -> Lorebook:
    """The owner's lorebook. Raises Missing."""
    found = Lorebook.objects.for_owner(owner).select_related("character").filter(pk=lorebook_id).first()
    if found is None:
        raise Missing("There is no such lorebook.")
    return found


def image_of(character: Character) -> CharacterImage | None:
    return CharacterImage.objects.for_owner(character.owner_id).filter(character=character).first()


def lorebook_of(character: Character) -> Lorebook | None:
    """The character's own lorebook."""
    return character.lorebooks.order_by("pk").first()


def gallery(owner: Any, words: str = "") -> models.QuerySet[Character]:
    """The owner's characters by name, those whose name or tags contain ``words`` where given.

    Each has ``has_image`` and ``chat_count``.
    """
    characters = Character.objects.for_owner(owner).annotate(
        has_image=Exists(CharacterImage.objects.for_owner(owner).filter(character=OuterRef("pk"))),
        chat_count=Count("chats"),
    )
    if words:
        characters = characters.annotate(said=models.functions.Cast("tags", models.TextField())).filter(
            models.Q(name__icontains=words) | models.Q(said__icontains=words)
        )
    ordered: models.QuerySet[Character] = characters.order_by(models.functions.Lower("name"), "pk")
    return ordered
