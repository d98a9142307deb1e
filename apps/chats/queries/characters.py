"""Read characters."""

from django.db import models
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast, Lower

from apps.chats.models import Character, CharacterImage
from apps.common.scoping import Owner


def image_of(character: Character) -> CharacterImage | None:
    return CharacterImage.objects.for_owner(character.owner_id).filter(character=character).first()


def list_characters(owner: Owner, words: str = "") -> QuerySet[Character]:
    """Return the owner's characters by name, with ``has_image`` and ``chat_count``.

    With ``words``, those whose name or tags contain them.
    """
    characters = (
        Character.objects.for_owner(owner)
        .own()
        .annotate(
            has_image=Exists(CharacterImage.objects.for_owner(owner).filter(character=OuterRef("pk"))),
            chat_count=Count("chats", filter=Q(chats__deleted_at=None)),
        )
    )
    if words:
        characters = characters.annotate(tag_text=Cast("tags", models.TextField())).filter(
            Q(name__icontains=words) | Q(tag_text__icontains=words)
        )
    ordered: QuerySet[Character] = characters.order_by(Lower("name"), "pk")
    return ordered
