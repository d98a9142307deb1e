"""Create, update and delete characters and their pictures."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext

from apps.chats.images.encoding import make_avatar
from apps.chats.images.pictures import BrokenPicture
from apps.chats.models import Avatar, Character, CharacterImage, Chat, ImportJob, Lorebook, Participant
from apps.chats.models.characters import FAVOURITE_KEY
from apps.chats.signals import character_renamed, characters_merged, chat_list_changed
from apps.common.problems import Invalid, Missing
from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of


def create_character(owner: Owner, *, name: str, **fields: Any) -> Character:
    """Create a character. ``fields`` are columns of Character."""
    return Character.objects.create(owner_id=owner_id_of(owner), name=name, **fields)


@transaction.atomic
def update_character(character: Character, **fields: Any) -> Character:
    """Change fields of a character, as it was read. What is remembered of it stays with it under another name."""
    former = character.name
    for name, value in fields.items():
        setattr(character, name, value)
    character.save(update_fields=[*fields, "updated_at"])
    if character.name != former:
        character_renamed.send(sender=Character, character=character, former=former)
    return character


def set_favourite(character: Character, is_favourite: bool) -> Character:
    """Mark a character as a favourite, or no longer."""
    return update_character(character, extensions=character.extensions | {FAVOURITE_KEY: is_favourite})


@transaction.atomic
def delete_character(character: Character) -> None:
    """Delete a character with its picture and its lorebook. Its chats stay."""
    _lock_chats_of([character])
    character.delete()


def _lock_chats_of(characters: Sequence[Character]) -> None:
    """Lock the chats of an owner's characters, which precede their characters in the order of locks."""
    owner_id = characters[0].owner_id
    takes_part = Participant.objects.for_owner(owner_id).filter(character__in=characters)
    for chats in (Chat.objects, Chat.in_bin):
        rows = chats.for_owner(owner_id).filter(Q(character__in=characters) | Q(pk__in=takes_part.values("chat")))
        list(rows.order_by("pk").select_for_update().values_list("pk"))


@transaction.atomic
def merge_characters(character: Character, into: Character) -> Character:
    """Move all that belongs to a character to another one, and delete it. It can't be undone.

    Chats, in the bin too, places in groups and what is remembered are moved; picture and lorebook only if ``into`` has
    none, and a second lorebook stays without a character. Raise Invalid if the two are the same or have other owners
    or namespaces.
    """
    of_others = (character.owner_id, character.namespace) != (into.owner_id, into.namespace)
    if character.pk == into.pk or of_others:
        raise Invalid.at("/into", gettext("It must be another one of your characters."))
    owner_id = character.owner_id
    _lock_chats_of([character, into])
    # In one order, so that two merges of the same characters don't wait for each other.
    rows = Character.objects.for_owner(owner_id).filter(pk__in=[character.pk, into.pk])
    if len(rows.select_for_update().order_by("pk")) < 2:
        raise Missing(gettext("There is no such character."))
    for chats in (Chat.objects, Chat.in_bin):
        chats.for_owner(owner_id).filter(character=character).update(character=into)
    for model in (Participant, ImportJob):
        model.objects.for_owner(owner_id).filter(character=character).update(character=into)
    has_image = CharacterImage.objects.for_owner(owner_id).filter(character=into).exists()
    if not has_image:
        CharacterImage.objects.for_owner(owner_id).filter(character=character).update(character=into)
        Avatar.objects.for_owner(owner_id).filter(character=character).update(character=into)
    books = Lorebook.objects.for_owner(owner_id)
    has_book = books.filter(character=into).exists()
    books.filter(character=character).update(character=None if has_book else into)
    characters_merged.send(sender=Character, character=character, into=into)
    character.delete()
    chat_list_changed.send(sender=Chat, owner_id=owner_id)
    return into


@transaction.atomic
def set_character_image(character: Character, content: bytes, media_type: str) -> CharacterImage:
    """Replace the character's picture, and its avatar, which is made of it.

    The picture is kept as it is: an exported card has it. If it can't be decoded, there is no avatar. Raise Missing.
    """
    delete_character_image(character)
    with suppress(BrokenPicture):
        Avatar.objects.create(owner_id=character.owner_id, character=character, content=make_avatar(content))
    return CharacterImage.objects.create(
        owner_id=character.owner_id, character=character, content=content, media_type=media_type
    )


@transaction.atomic
def delete_character_image(character: Character) -> None:
    """Delete the character's picture and its avatar. Raise Missing if the character was deleted."""
    # The lock keeps the two together while others are uploaded.
    locked = Character.objects.for_owner(character.owner_id).select_for_update().filter(pk=character.pk)
    if not locked.values_list("pk"):
        raise Missing(gettext("There is no such character."))
    CharacterImage.objects.for_owner(character.owner_id).filter(character=character).delete()
    Avatar.objects.for_owner(character.owner_id).filter(character=character).delete()


def find_or_create_character(owner: Owner, name: str, namespace: str = OWN_NAMESPACE) -> Character:
    """Return the owner's oldest character of this name in a namespace, or create one."""
    named = Character.objects.for_owner(owner).in_namespace(namespace).filter(name=name)
    return named.order_by("pk").first() or create_character(owner, name=name, namespace=namespace)


def check_namespace(character: Character | None, namespace: str) -> None:
    """Raise Invalid if a character is of another namespace than what is to refer to it."""
    if character is not None and character.namespace != namespace:
        raise Invalid.at("/character", gettext("It is of another namespace."))
