"""Flags of automatic rules, and the case that they open."""

import hashlib
from collections.abc import Sequence

from django.db import transaction

from apps.moderation.models import Flag
from apps.moderation.operations.reports import open_case
from apps.moderation.targets import Target


@transaction.atomic
def store_flag(target: Target, text: str, source: str, categories: Sequence[str] = ()) -> None:
    """Flag a text once: one whose case was decided is not flagged again by the same source."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    flags = Flag.objects.for_owner(target.owner_id).filter(source=source, digest=digest)
    if not flags.filter(case__kind=target.kind, case__target_id=target.pk).exists():
        flags.get_or_create(
            case=open_case(target),
            source=source,
            digest=digest,
            defaults={"owner_id": target.owner_id, "categories": list(categories)},
        )
