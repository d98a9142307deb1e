"""Record what Loci has changed since the last sync: in memories and journal entries, whoever wrote them.

Extraction, corrections, merges, undo and the bin write memories in many places, some of many rows at once. So that
none is missed, the texts are compared with those of items when an instance pulls or pushes.
"""

from collections.abc import Iterator

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from apps.accounts.instance_names import LOCI
from apps.common.scoping import Owner
from apps.instances.models import Item
from apps.instances.operations.items import ItemWriter, keep_version
from apps.instances.operations.targets import LONG_TERM
from apps.memories.models import JournalEntry, Memory
from apps.memories.visibility import MemoryQuerySet


def stamp_changes(owner: Owner) -> ItemWriter:
    """Raise the counter of Loci for each change since the last sync of a locked owner. Return the writer."""
    writer = ItemWriter(owner)
    _stamp_present(writer, list(_changed(owner, _shared(owner))))
    _stamp_present(writer, list(_changed(owner, JournalEntry.objects.for_owner(owner).present().exclude(text=""))))
    for item in _gone(owner):
        if item.text:  # else it was erased, with a chat that was deleted for good
            keep_version(item)
        item.deleted_at = now = timezone.now()
        writer.save_as_loci(item, now)
    return writer


def _shared(owner: Owner) -> MemoryQuerySet:
    """Return the memories that programs share: lasting ones, but none of an end user of the owner's application."""
    memories: MemoryQuerySet = Memory.objects.for_owner(owner).own()
    return memories.active().filter(tier=LONG_TERM)


def _changed(owner: Owner, rows: QuerySet[Memory] | QuerySet[JournalEntry]) -> Iterator[Memory | JournalEntry]:
    """Yield rows whose text is not that of their item, or that have none."""
    items = Item.objects.for_owner(owner).present().filter(kind=Item.Kind.MEMORY, target=OuterRef("pk"))
    rows = rows.alias(known=Subquery(items.values("text")))
    yield from rows.filter(Q(known=None) | ~Q(text=F("known"))).order_by("pk")


def _gone(owner: Owner) -> list[Item]:
    """Return items whose memory or entry is deleted, retired, superseded or in the bin, or no longer exists."""
    memories = _shared(owner).filter(pk=OuterRef("target"))
    entries = JournalEntry.objects.for_owner(owner).present().exclude(text="").filter(pk=OuterRef("target"))
    items = Item.objects.for_owner(owner).present().filter(kind=Item.Kind.MEMORY)
    return list(items.filter(~Exists(memories), ~Exists(entries)).order_by("pk"))


def _stamp_present(writer: ItemWriter, rows: list[Memory | JournalEntry]) -> None:
    known = Item.objects.for_owner(writer.owner_id).filter(target__in=[row.pk for row in rows])
    items = {item.target: item for item in known}
    new = [_new_item(writer, row) for row in rows if row.pk not in items]
    Item.objects.bulk_create(new, batch_size=1000)
    for row in rows:
        if item := items.get(row.pk):
            if item.text:  # else it was erased
                keep_version(item)
            item.text, item.deleted_at = row.text, None
            writer.save_as_loci(item, row.updated_at)


def _new_item(writer: ItemWriter, row: Memory | JournalEntry) -> Item:
    item = Item(owner_id=writer.owner_id, kind=Item.Kind.MEMORY, target=row.pk, text=row.text)
    if isinstance(row, JournalEntry):
        item.tier, item.period = row.granularity, row.period
        item.written_for = (row.instance or LOCI) if row.granularity == "daily" else ""
    else:
        item.tier, item.participating_instances = LONG_TERM, row.participating_instances
    writer.stamp(item, row.updated_at)
    return item
