"""Read, create and change generation presets."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext

from apps.common.database.rows import claim_default, first_or_missing, update_row
from apps.common.jobs import lock_owner
from apps.common.scoping import Owner, owner_id_of
from apps.replies.models import GenerationPreset


def list_presets(owner: Owner) -> QuerySet[GenerationPreset]:
    """Return the owner's presets by name."""
    return GenerationPreset.objects.for_owner(owner).order_by(Lower("name"), "pk")


def access_preset(owner: Owner, preset_id: UUID) -> GenerationPreset:
    """Return the owner's preset. Raise Missing."""
    return first_or_missing(
        GenerationPreset.objects.for_owner(owner).filter(pk=preset_id), gettext("There is no such preset.")
    )


def preset_or_default(owner: Owner, preset: GenerationPreset | None) -> GenerationPreset:
    """Return ``preset``, else the default one, else one that is not stored, with the default values."""
    return preset or GenerationPreset.objects.for_owner(owner).filter(is_default=True).first() or GenerationPreset()


def reply_tokens_of(preset: GenerationPreset, context_tokens: int) -> int:
    """Return how many tokens of the context are kept for a reply: those of the preset, but at most half."""
    return min(preset.max_tokens, context_tokens // 2)


@transaction.atomic
def create_preset(owner: Owner, *, is_default: bool = False, **fields: Any) -> GenerationPreset:
    """Create a preset. It becomes the default one if ``is_default`` or if there is none."""
    lock_owner(owner)
    is_default = claim_default(GenerationPreset.objects.for_owner(owner), is_default)
    return GenerationPreset.objects.create(owner_id=owner_id_of(owner), is_default=is_default, **fields)


@transaction.atomic
def update_preset(preset: GenerationPreset, **fields: Any) -> GenerationPreset:
    """Change fields of a preset, and return it. Raise Missing."""
    lock_owner(preset.owner_id)
    preset = access_preset(preset.owner_id, preset.pk)
    update_row(preset, GenerationPreset.objects.for_owner(preset.owner_id), fields)
    return preset
