"""Save items with their positions, and keep what they replace as versions."""

import datetime as dt

from apps.accounts.instance_names import LOCI
from apps.common.scoping import Owner, owner_id_of
from apps.instances.models import Conflict, Item, ItemVersion
from apps.instances.resolution import Contender


class ItemWriter:
    """Saves items of a locked owner. Each save raises the counter of Loci, ``position``."""

    def __init__(self, owner: Owner) -> None:
        self.owner_id = owner_id_of(owner)
        self.position = last_position(owner)

    def save(self, item: Item) -> None:
        """Save an item at the next position."""
        item.position = self._next_position()
        item.save()

    def save_as_loci(self, item: Item, at: dt.datetime) -> None:
        """Save an item at the next position as a change that Loci has made."""
        self.stamp(item, at)
        item.save()

    def stamp(self, item: Item, at: dt.datetime) -> None:
        """Give an item the next position, and the clock, writer and time of a change of Loci. Save nothing."""
        item.position = self._next_position()
        item.clock = item.clock | {LOCI: item.position}
        item.instance, item.changed_at = LOCI, at

    def _next_position(self) -> int:
        self.position += 1
        return self.position


def last_position(owner: Owner) -> int:
    """Return the counter of Loci: the position of the item that was changed last."""
    newest = Item.objects.for_owner(owner).order_by("-position").values_list("position", flat=True).first()
    return newest or 0


def keep_version(item: Item) -> None:
    """Keep the current text of an item as a version, before it is replaced and saved. A tombstone has none."""
    if item.deleted_at is None:
        _add_version(item, Contender(item.text, item.clock, item.instance, item.changed_at))


def keep_loser(item: Item, loser: Contender) -> bool:
    """Keep a text that lost against the item's. Return False if the item has, or had, that text already."""
    is_known = (
        (item.deleted_at is None and item.text == loser.text)
        or ItemVersion.objects.for_owner(item.owner_id).filter(item=item, text=loser.text).exists()
        or Conflict.objects.for_owner(item.owner_id).filter(item=item, theirs=loser.text).exists()
    )
    if not is_known:
        _add_version(item, loser)
        # The caller may have saved the item already, and no number may be given twice.
        Item.objects.for_owner(item.owner_id).filter(pk=item.pk).update(version=item.version)
    return not is_known


def _add_version(item: Item, kept: Contender) -> None:
    ItemVersion.objects.create(
        owner_id=item.owner_id,
        item=item,
        number=item.version,
        text=kept.text or "",
        clock=kept.clock,
        instance=kept.instance,
        changed_at=kept.at,
    )
    item.version += 1
