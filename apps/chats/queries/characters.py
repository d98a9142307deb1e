"""Read characters."""

import json
from collections import Counter

from django.db import models
from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Lower

from apps.chats.models import Character, CharacterImage
from apps.chats.models.characters import FAVOURITE_KEY
from apps.common.scoping import Owner

MAX_SHOWN_TAGS = 24


def image_of(character: Character) -> CharacterImage | None:
    return CharacterImage.objects.for_owner(character.owner_id).filter(character=character).first()


def list_characters(owner: Owner, words: str = "", tag: str = "") -> QuerySet[Character]:
    """Return the owner's characters with ``has_image`` and ``chat_count``, favourites first, then by name.

    With ``words``, those whose name or tags contain them; with a ``tag``, those that have it.
    """
    characters = (
        Character.objects.for_owner(owner)
        .own()
        .annotate(
            has_image=Exists(CharacterImage.objects.for_owner(owner).filter(character=OuterRef("pk"))),
            chat_count=Count("chats", filter=Q(chats__deleted_at=None)),
            favourite_text=KeyTextTransform(FAVOURITE_KEY, "extensions"),
            tag_text=Cast("tags", models.TextField()),
        )
    )
    if words:
        characters = characters.filter(Q(name__icontains=words) | Q(tag_text__icontains=words))
    if tag:
        characters = characters.filter(tag_text__contains=json.dumps(tag, ensure_ascii=False))
    not_favourite = Case(When(favourite_text="true", then=0), default=1)
    ordered: QuerySet[Character] = characters.order_by(not_favourite, Lower("name"), "pk")
    return ordered


def character_tags(owner: Owner) -> list[str]:
    """Return the tags of the owner's characters, those of the most characters first."""
    counts = Counter(
        tag
        for tags in Character.objects.for_owner(owner).own().values_list("tags", flat=True)
        for tag in tags
        if isinstance(tag, str)
    )
    return [tag for tag, _ in counts.most_common(MAX_SHOWN_TAGS)]
