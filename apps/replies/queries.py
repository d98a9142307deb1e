"""Read generations."""

from uuid import UUID

from django.utils.translation import gettext

from apps.common.database.rows import first_or_missing
from apps.common.scoping import Owner
from apps.replies.models import Generation


def access_generation(owner: Owner, generation_id: UUID) -> Generation:
    """Return the owner's generation. Raise Missing, also if its chat is in the bin."""
    generations = Generation.objects.for_owner(owner).filter(pk=generation_id, chat__deleted_at=None)
    return first_or_missing(generations, gettext("There is no such reply."))
