"""Create, update and delete characters and their pictures."""

from typing import Any

from django.db import transaction
from django.db.models import Q

from apps.chats.formats.cards.reading import ParsedCard
from apps.chats.models import Character, CharacterImage, Chat, Participant
from apps.chats.operations.lorebooks import store_book
from apps.common.scoping import Owner, owner_id_of


def create_character(owner: Owner, *, name: str, **fields: Any) -> Character:
    """Create a character. ``fields`` are columns of Character."""
    return Character.objects.create(owner_id=owner_id_of(owner), name=name, **fields)


@transaction.atomic
def create_character_from_card(owner: Owner, parsed: ParsedCard, name: str) -> Character:
    """Create a character with its picture and its lorebook. ``name`` is used if the card has none."""
    fields = parsed.fields | {"name": parsed.fields["name"] or name}
    character = create_character(owner, **fields, card=parsed.card)
    if parsed.picture is not None:
        set_character_image(character, parsed.picture, parsed.media_type)
    if parsed.book is not None:
        store_book(owner, parsed.book, character.name, character)
    return character


def update_character(character: Character, **fields: Any) -> Character:
    for name, value in fields.items():
        setattr(character, name, value)
    character.save(update_fields=[*fields, "updated_at"])
    return character


@transaction.atomic
def delete_character(character: Character) -> None:
    """Delete a character with its picture and its lorebook. Its chats stay."""
    takes_part = Participant.objects.for_owner(character.owner_id).filter(character=character)
    for chats in (Chat.objects, Chat.in_bin):  # in the order of locks, chats precede their character
        rows = chats.for_owner(character.owner_id).filter(Q(character=character) | Q(pk__in=takes_part.values("chat")))
        list(rows.order_by("pk").select_for_update().values_list("pk"))
    character.delete()


@transaction.atomic
def set_character_image(character: Character, content: bytes, media_type: str) -> CharacterImage:
    """Replace the character's picture."""
    delete_character_image(character)
    return CharacterImage.objects.create(
        owner_id=character.owner_id, character=character, content=content, media_type=media_type
    )


def delete_character_image(character: Character) -> None:
    CharacterImage.objects.for_owner(character.owner_id).filter(character=character).delete()


def find_or_create_character(owner: Owner, name: str) -> Character:
    """Return the owner's oldest character of this name, or create one."""
    character = Character.objects.for_owner(owner).filter(name=name).order_by("pk").first()
    return character or create_character(owner, name=name)
