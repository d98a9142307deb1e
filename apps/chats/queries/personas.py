"""Read personas, and the avatars of those who speak in a chat."""

from uuid import UUID

from django.db.models import Case, FilteredRelation, Q, QuerySet, When
from django.db.models.functions import Coalesce, Lower

from apps.chats.models import Avatar, Chat, Persona
from apps.common.scoping import Owner


def list_personas(owner: Owner) -> QuerySet[Persona]:
    """Return the owner's personas by name, with their avatars, whose content is not read."""
    personas: QuerySet[Persona] = Persona.objects.for_owner(owner).select_related("avatar").defer("avatar__content")
    return personas.order_by(Lower("name"), "pk")


def default_persona(owner: Owner) -> Persona | None:
    """Return the persona that new chats begin with."""
    persona: Persona | None = Persona.objects.for_owner(owner).filter(is_default=True).first()
    return persona


def avatars_of(chat: Chat) -> dict[tuple[bool, str], UUID]:
    """Return the ids of the avatars of a chat's speakers by ``is_user`` and name.

    These are the owner's personas, the chat's character and its participants. Of two personas with one name it is the
    chat's own.
    """
    of_chat = FilteredRelation("character__participations", condition=Q(character__participations__chat=chat.pk))
    rows = (
        Avatar.objects.for_owner(chat.owner_id)
        .annotate(participant=of_chat, is_own=Case(When(persona=chat.persona_id, then=True), default=False))
        .filter(
            Q(persona__isnull=False, persona__deleted_at=None)
            | Q(character__isnull=False, character=chat.character_id)
            | Q(participant__isnull=False)
        )
        .order_by("is_own", "pk")  # of equal keys the last one stays
        .values_list("persona__name", Coalesce("participant__name", "character__name"), "pk")
    )
    return {(persona is not None, persona or name): pk for persona, name, pk in rows}
