"""Settle conflicts."""

import datetime as dt

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.common import jobs, problems
from apps.common.scoping import Owner
from apps.instances.models import Conflict
from apps.instances.operations.stamping import stamp_changes
from apps.instances.operations.targets import LONG_TERM, NO_VECTOR, write_target
from apps.journal.entries import write_significant
from apps.memories.journal.periods import Granularity
from apps.memories.models import Memory
from apps.memories.operations.memories import NewMemory, create_memory


@transaction.atomic
def apply_choice(owner: Owner, conflict: Conflict, choice: str, *, text: str = "", editor: str) -> Conflict:
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
        _write_both(conflict, editor)
    elif choice != Conflict.Choice.OURS:
        write_target(conflict.item, conflict.theirs if choice == Conflict.Choice.THEIRS else text, editor=editor)
    conflict.choice, conflict.settled_by, conflict.settled_at = choice, editor, timezone.now()
    conflict.save()
    stamp_changes(owner)  # keeps the old text and raises the clock, as after any other correction in Loci
    return conflict


def _write_both(conflict: Conflict, editor: str) -> None:
    item, theirs = conflict.item, conflict.theirs
    if item.tier == LONG_TERM:
        second = NewMemory(theirs, LONG_TERM, Memory.Kind.FACT, source_instance=conflict.their_instance)
        create_memory(item.owner_id, second, editor=editor, vector=NO_VECTOR)
    elif item.tier == Granularity.SIGNIFICANT:
        date = dt.date.fromisoformat(item.period)
        write_significant(item.owner_id, period=date, title="", text=theirs, editor=editor, with_vector=False)
    else:
        write_target(item, f"{item.text.rstrip()}\n\n{theirs}", editor=editor)
