"""Load one thing of an owner by its id."""

from uuid import UUID

from django.utils.translation import gettext

from apps.chats.models import Avatar, Character, Chat, ChatImage, Lorebook, Message, Persona
from apps.chats.queries.personas import list_personas
from apps.common.database.rows import first_or_missing
from apps.common.scoping import Owner


def access_chat(owner: Owner, chat_id: UUID) -> Chat:
    """Return the owner's chat. Raise Missing."""
    chats = Chat.objects.for_owner(owner).select_related("character").filter(pk=chat_id)
    return first_or_missing(chats, gettext("There is no such chat."))


def access_message(owner: Owner, chat_id: UUID, message_id: UUID) -> Message:
    """Return a message of the owner's chat. Raise Missing."""
    messages = Message.objects.for_owner(owner).with_swipes().filter(chat_id=chat_id, pk=message_id)
    messages = messages.filter(chat__deleted_at=None)
    return first_or_missing(messages, gettext("There is no such message in this chat."))


def access_character(owner: Owner, character_id: UUID) -> Character:
    """Return the owner's character. Raise Missing."""
    characters = Character.objects.for_owner(owner).filter(pk=character_id)
    return first_or_missing(characters, gettext("There is no such character."))


def access_persona(owner: Owner, persona_id: UUID) -> Persona:
    """Return the owner's persona. Raise Missing."""
    return first_or_missing(list_personas(owner).filter(pk=persona_id), gettext("There is no such persona."))


def access_avatar(owner: Owner, avatar_id: UUID) -> Avatar:
    """Return the owner's avatar. Raise Missing."""
    return first_or_missing(Avatar.objects.for_owner(owner).filter(pk=avatar_id), gettext("There is no such avatar."))


def access_chat_image(owner: Owner, key: UUID) -> ChatImage:
    """Return the owner's image with this key, of a chat that is not in the bin. Raise Missing."""
    images = ChatImage.objects.for_owner(owner).filter(key=key, chat__deleted_at=None)
    return first_or_missing(images.order_by("pk"), gettext("There is no such image."))


def access_lorebook(owner: Owner, lorebook_id: UUID) -> Lorebook:
    """Return the owner's lorebook. Raise Missing."""
    lorebooks = Lorebook.objects.for_owner(owner).select_related("character").filter(pk=lorebook_id)
    return first_or_missing(lorebooks, gettext("There is no such lorebook."))
