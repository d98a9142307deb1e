"""Settle conflicts."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.common import jobs, problems
from apps.common.scoping import Owner
from apps.instances.models import Conflict, Item
from apps.instances.operations.stamping import stamp_changes
from apps.instances.operations.targets import LONG_TERM, write_target


@transaction.atomic
def settle(owner: Owner, conflict: Conflict, choice: str, *, text: str = "", editor: str) -> Conflict:
    """Settle a conflict: what stands now stays (ours), or gives way to their text, both, or the person's ``text``.

    With both, a memory or a significant entry becomes two; a week, month or year has both texts in its one entry.
    Raise a 409 if the conflict is settled already.
    """
    jobs.lock_owner(owner)
    conflict = Conflict.objects.for_owner(owner).select_related("item").get(pk=conflict.pk)
    if conflict.choice:
        raise problems.Conflict(gettext("This conflict is settled already."))
    stamp_changes(owner)
    conflict.item.refresh_from_db()
    if choice == Conflict.Choice.BOTH:
        _keep_both(conflict, editor)
    elif choice != Conflict.Choice.OURS:
        _rewrite(conflict.item, conflict.theirs if choice == Conflict.Choice.THEIRS else text, editor)
    conflict.choice, conflict.settled_by, conflict.settled_at = choice, editor, timezone.now()
    conflict.save()
    stamp_changes(owner)
    return conflict


def _keep_both(conflict: Conflict, editor: str) -> None:
    item = conflict.item
    if item.tier not in (LONG_TERM, "significant"):
        _rewrite(item, f"{item.text.rstrip()}\n\n{conflict.theirs}", editor)
        return
    second = Item(owner_id=item.owner_id, kind=item.kind, tier=item.tier, period=item.period)
    second.instance = conflict.their_instance
    write_target(second, conflict.theirs, editor=editor)  # the stamp that follows stores an item of its own


def _rewrite(item: Item, text: str, editor: str) -> None:
    """Write a text to the memory or entry only: the stamp that follows keeps the old one and raises the clock."""
    write_target(item, text, editor=editor)
