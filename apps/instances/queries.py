"""Read what instances pull, and conflicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.instance_names import LOCI
from apps.common import jobs
from apps.common.problems import Invalid
from apps.common.scoping import Owner
from apps.instances.models import Conflict, Instance, Item
from apps.instances.operations.pushing import known_clock
from apps.instances.operations.registration import registered
from apps.instances.operations.stamping import stamp_changes
from apps.instances.vector_clock import Clock, merge, unseen_errors
from apps.memories.models import Memory


@dataclass(frozen=True)
class Pulled:
    """A page of changed items. ``clock`` is what an instance has seen after it; ``cursor`` names the next page."""

    clock: dict[str, int]
    items: Sequence[Item]
    chats: dict[UUID, UUID | None]
    cursor: int | None


@transaction.atomic
def pull(owner: Owner, name_id: str, since: Clock | None, *, after: int = 0, limit: int) -> Pulled:
    """Return a page of what has changed since a clock, or of everything, in the order of its changes.

    The counter of Loci in ``since`` says up to where: Loci raises it for whatever it stores, also for what an instance
    wrote long before it pushed it. Raise Invalid for an unknown instance or a clock that nobody can have seen.
    """
    jobs.lock_owner(owner)
    instances = list(Instance.objects.for_owner(owner))
    instance = registered(instances, name_id)
    writer = stamp_changes(owner)
    known = known_clock(instances, writer.position)
    for error in unseen_errors(since or {}, known, own=name_id):
        raise Invalid.at("/since", error)
    # Its own counter rises by what it pushes alone: what it says of itself may never have arrived.
    seen = {name: counter for name, counter in (since or {}).items() if name != name_id}
    instance.clock, instance.last_contact = merge(instance.clock, seen), timezone.now()
    instance.save(update_fields=["clock", "last_contact"])
    start = max(after, (since or {}).get(LOCI, 0))
    items = list(Item.objects.for_owner(owner).filter(position__gt=start).order_by("position")[: limit + 1])
    page = items[:limit]
    cursor = page[-1].position if len(items) > limit else None
    clock = known if cursor is None else known | {LOCI: cursor}
    memories = Memory.objects.for_owner(owner).filter(pk__in=[item.target for item in page])
    return Pulled(clock, page, dict(memories.values_list("pk", "chat_id")), cursor)


def open_conflicts(owner: Owner) -> QuerySet[Conflict]:
    """Return the conflicts that wait for a person."""
    return Conflict.objects.for_owner(owner).filter(choice="").select_related("item")


def present_instances(owner: Owner) -> QuerySet[Instance]:
    """Return the instances that are not removed."""
    return Instance.objects.for_owner(owner).filter(removed_at=None)
