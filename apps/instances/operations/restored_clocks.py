"""Let clocks go on after an account was restored: what instances have seen is not undone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from django.utils import timezone

from apps.common.database.ids import uuid7
from apps.common.scoping import Owner, owner_id_of
from apps.instances.models import Instance, Item
from apps.instances.operations.items import ItemWriter
from apps.instances.vector_clock import merge
from apps.memories.journal.periods import Granularity

NAMED_BY_PERIOD = (Granularity.DAILY, Granularity.WEEKLY, Granularity.MONTHLY, Granularity.YEARLY)
Key = tuple[str, ...]


@dataclass(frozen=True)
class SyncState:
    """What the instances of an owner may know: instances and items, without texts, by their names."""

    instances: Mapping[str, Instance]
    items: Mapping[Key, Item]

    @classmethod
    def of(cls, owner: Owner) -> Self:
        """Return the current state."""
        items = Item.objects.for_owner(owner).defer("text").order_by("position")
        instances = Instance.objects.for_owner(owner)
        return cls({each.name_id: each for each in instances}, {_key(item): item for item in items})

    @property
    def position(self) -> int:
        """Return the counter of Loci."""
        return max((item.position for item in self.items.values()), default=0)


def continue_clocks(owner: Owner, before: SyncState) -> None:
    """Store what a restore has changed as changes of Loci that come after all that was known ``before``.

    Items of before that the archive doesn't have become tombstones. Instances that it doesn't have stay registered, as
    their tokens do.
    """
    restored = SyncState.of(owner)
    _continue_instances(before, restored)
    writer = ItemWriter(owner)
    writer.position = max(writer.position, before.position)
    for item in [*_changed(before, restored), *_missing(owner, before, restored)]:
        writer.save_as_loci(item, timezone.now())


def _continue_instances(before: SyncState, restored: SyncState) -> None:
    for name, instance in before.instances.items():
        if known := restored.instances.get(name):
            known.clock = merge(known.clock, instance.clock)
            known.save(update_fields=["clock"])
        else:
            instance.save(force_insert=True)


def _changed(before: SyncState, restored: SyncState) -> Iterator[Item]:
    """Yield the restored items that are not as they were, each with a clock that has seen what it was."""
    if before.position == 0:  # nothing was known: the archive's clocks hold
        return
    for key, item in restored.items.items():
        earlier = before.items.get(key)
        if earlier is None or (earlier.position, earlier.clock) != (item.position, item.clock):
            item.clock = merge(item.clock, earlier.clock if earlier else {})
            yield item


def _missing(owner: Owner, before: SyncState, restored: SyncState) -> Iterator[Item]:
    """Yield a tombstone for each item that the archive doesn't have. The text stays in the safety snapshot only."""
    targets: set[UUID] = {item.target for item in restored.items.values()}
    periods = {_period(item) for item in restored.items.values()}
    for item in before.items.values():
        if (item.kind == Item.Kind.IDENTITY and _key(item) in restored.items) or item.target in targets:
            continue
        names = {"tier": item.tier, "period": item.period, "written_for": item.written_for}
        if item.tier in NAMED_BY_PERIOD and _period(item) in periods:
            names = {}  # this period has another entry now, which its names would find
        yield Item(
            pk=uuid7(),
            owner_id=owner_id_of(owner),
            kind=item.kind,
            category=item.category,
            filename=item.filename,
            target=item.target,
            clock=item.clock,
            deleted_at=item.deleted_at or timezone.now(),
            **names,
        )


def _period(item: Item) -> Key:
    return item.tier, item.period, item.written_for


def _key(item: Item) -> Key:
    if item.kind == Item.Kind.IDENTITY:
        return item.category, item.filename
    return (str(item.target),)
