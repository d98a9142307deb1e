"""Reads for pages and the API."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from apps.common.database.rows import first_or_missing
from apps.common.scoping import Owner, system_scope
from apps.moderation.models import Case, Kind, Look, Notice, Report


def is_hidden(kind: str, target_id: UUID) -> bool:
    """Return whether a thing is hidden from all but its owner. Whoever shows things to others asks this."""
    with system_scope():
        return Case.objects.filter(kind=kind, target_id=target_id, hides=True).exists()


def hidden_of(owner: Owner, kind: Kind, ids: Collection[UUID]) -> set[UUID]:
    """Return the ids of the owner's things among ``ids`` that are hidden from others."""
    hiding = Case.objects.for_owner(owner).filter(kind=kind, hides=True, target_id__in=ids)
    return set(hiding.values_list("target_id", flat=True))


def notices_of(owner: Owner) -> QuerySet[Notice]:
    """Return what a user was told, newest first."""
    return Notice.objects.for_owner(owner).select_related("case").order_by("-pk")


def access_notice(owner: Owner, notice_id: UUID) -> Notice:
    """Return a notice of a user. Raise Missing."""
    return first_or_missing(notices_of(owner).filter(pk=notice_id), "There is no such notice.")


def reports_of(owner: Owner) -> QuerySet[Report]:
    """Return what a user has reported, newest first."""
    return Report.objects.for_owner(owner).select_related("case").order_by("-pk")


def looks_of(owner: Owner) -> QuerySet[Look]:
    """Return the looks of moderators at what is a user's, newest first."""
    return Look.objects.for_owner(owner).order_by("-pk")
