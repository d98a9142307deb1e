"""Create, change, delete and restore personas, and set avatars."""

import datetime as dt
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.images.encoding import make_avatar
from apps.chats.models import Avatar, Chat, Persona
from apps.chats.operations.bin import BIN_PERIOD
from apps.chats.operations.chats import update_chat
from apps.chats.queries import access_persona
from apps.chats.signals import persona_renamed
from apps.common.database.rows import claim_default, first_or_missing, update_row
from apps.common.jobs import lock_owner
from apps.common.scoping import Owner, owner_id_of, system_scope


@transaction.atomic
def create_persona(owner: Owner, *, name: str, description: str = "", is_default: bool = False) -> Persona:
    """Create a persona. It becomes the default one if ``is_default`` or if there is none."""
    lock_owner(owner)
    is_default = claim_default(Persona.objects.for_owner(owner), is_default)
    return Persona.objects.create(
        owner_id=owner_id_of(owner), name=name, description=description, is_default=is_default
    )


@transaction.atomic
def introduce(owner: Owner, name: str) -> Persona:
    """Create the owner's first persona and return it. If there are personas, return the default one, else any."""
    lock_owner(owner)
    personas = Persona.objects.for_owner(owner).order_by("-is_default", "pk")
    return personas.first() or create_persona(owner, name=name, is_default=True)


@transaction.atomic
def update_persona(persona: Persona, **fields: Any) -> Persona:
    """Change name, description and ``is_default``. Messages keep the name that they were written under.

    A new name is the user's name in the chats that name the persona, unless they have another one. Raise Missing.
    """
    former, name = persona.name, fields.get("name", persona.name)
    chats: list[Chat] = []
    if name != former:
        rows = Chat.objects.for_owner(persona.owner_id).filter(persona=persona, user_name=former)
        chats = [update_chat(chat, is_use=False, user_name=name) for chat in rows.order_by("pk")]
    lock_owner(persona.owner_id)
    persona = access_persona(persona.owner_id, persona.pk)
    update_row(persona, Persona.objects.for_owner(persona.owner_id), fields)
    if chats:
        persona_renamed.send(sender=Persona, name=name, former=former, chats=chats)
    return persona


@transaction.atomic
def delete_persona(persona: Persona) -> None:
    """Delete a persona. Its chats stay, without one, and under the same name. It can be restored for BIN_PERIOD.

    Raise Missing.
    """
    owner_id = persona.owner_id
    for chats in (Chat.objects, Chat.in_bin):  # in the order of locks, chats come first
        rows = chats.for_owner(owner_id).filter(persona=persona)
        list(rows.order_by("pk").select_for_update().values_list("pk"))
    locked = first_or_missing(
        Persona.objects.for_owner(owner_id).select_for_update().filter(pk=persona.pk),
        gettext("There is no such persona."),
    )
    for chats in (Chat.objects, Chat.in_bin):
        rows = chats.for_owner(owner_id).filter(persona=persona)
        locked.played_in += rows.values_list("pk", flat=True)
        rows.update(persona=None)
    locked.deleted_at = timezone.now()
    locked.save(update_fields=["deleted_at", "played_in"])


@transaction.atomic
def restore_persona(owner: Owner, persona_id: UUID) -> Persona:
    """Take back the deletion of a persona, also in the chats that have no other one since. Raise Missing.

    It is the default one again if there is no other.
    """
    persona = Persona.deleted.for_owner(owner).filter(pk=persona_id).first()
    if persona is None:
        return access_persona(owner, persona_id)  # it is restored already
    for chats in (Chat.objects, Chat.in_bin):
        rows = chats.for_owner(owner).filter(pk__in=persona.played_in, persona=None)
        locked = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
        chats.for_owner(owner).filter(pk__in=locked).update(persona=persona)
    lock_owner(owner)
    persona.is_default &= not Persona.objects.for_owner(owner).filter(is_default=True).exclude(pk=persona.pk).exists()
    persona.deleted_at, persona.played_in = None, []
    persona.save(update_fields=["is_default", "deleted_at", "played_in", "updated_at"])
    return persona


def purge_old_personas(now: dt.datetime) -> int:
    """Delete personas for good that were deleted more than BIN_PERIOD ago. Return how many."""
    with system_scope(), transaction.atomic():
        old = Persona.deleted.select_for_update().filter(deleted_at__lt=now - BIN_PERIOD)
        count, _ = Persona.deleted.filter(pk__in=list(old.values_list("pk", flat=True))).delete()
    return count


@transaction.atomic
def set_persona_avatar(persona: Persona, content: bytes) -> Avatar:
    """Replace the persona's avatar by a picture. Raise BrokenPicture."""
    avatar = make_avatar(content)
    lock_owner(persona.owner_id)  # so that two uploads at a time replace each other
    delete_persona_avatar(persona)
    return Avatar.objects.create(owner_id=persona.owner_id, persona=persona, content=avatar)


def delete_persona_avatar(persona: Persona) -> None:
    Avatar.objects.for_owner(persona.owner_id).filter(persona=persona).delete()
