"""Apply what an instance pushes."""

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from apps.accounts.instance_names import LOCI
from apps.chats.models import Chat
from apps.common import jobs
from apps.common.problems import FieldError, Invalid
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.jobs.embedding_jobs import on_embedding_changed
from apps.instances.models import Instance
from apps.instances.operations.applying import apply_pushed
from apps.instances.operations.pushed import PushedVersion, PushReport
from apps.instances.operations.registration import registered
from apps.instances.operations.stamping import stamp_changes
from apps.instances.vector_clock import Clock, merge, unseen_errors


@transaction.atomic
def push(owner: Owner, name_id: str, clock: Clock, pushed: Sequence[PushedVersion]) -> PushReport:
    """Apply what an instance pushes, all or none. Repeating it changes nothing.

    Raise Invalid for an unknown instance, and for clocks that name what nobody can have seen.
    """
    _lock_chats(owner, pushed)
    jobs.lock_owner(owner)
    instances = list(Instance.objects.for_owner(owner))
    instance = registered(instances, name_id)
    writer = stamp_changes(owner)  # first: what is pushed is compared with what Loci itself has changed by now
    known = known_clock(instances, writer.position)
    _check(name_id, known, clock, pushed)
    report = PushReport()
    priorities = {each.name_id: each.priority for each in instances}
    for each in pushed:
        report.add(apply_pushed(writer, each, priorities))
    if report.applied or report.merged:
        on_embedding_changed(owner_id_of(owner))  # written without vectors, as no model is asked under the locks
    own = max((each.version.clock.get(name_id, 0) for each in pushed), default=0)
    instance.clock = merge(merge(instance.clock, clock), {name_id: own} if own else {})
    instance.last_contact = timezone.now()
    instance.save(update_fields=["clock", "last_contact"])
    report.clock = known_clock(instances, writer.position)
    return report


def _lock_chats(owner: Owner, pushed: Sequence[PushedVersion]) -> None:
    """Lock the chats that new memories name, before the owner, as all writes do: none waits for the other."""
    named = {each.chat for each in pushed if each.chat}
    rows = Chat.objects.for_owner(owner).filter(pk__in=named).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk"))


def known_clock(instances: Sequence[Instance], position: int) -> dict[str, int]:
    """Return the highest counter of each instance, removed ones included, and of Loci."""
    counters = {each.name_id: each.counter for each in instances} | {LOCI: position}
    return {name: counter for name, counter in counters.items() if counter}


def _check(name_id: str, known: Clock, clock: Clock, pushed: Sequence[PushedVersion]) -> None:
    """Raise Invalid with an error for each clock that is not the instance's to push."""
    errors = [FieldError("/clock", error) for error in unseen_errors(clock, known, own=name_id)]
    for each in pushed:
        if each.version.instance != name_id or name_id not in each.version.clock:
            detail = f"It must be written by {name_id!r}, whose counter its clock must have."
            errors.append(FieldError(f"{each.pointer}/instance", detail))
        unseen = unseen_errors(each.version.clock, known, own=name_id)
        errors.extend(FieldError(f"{each.pointer}/clock", error) for error in unseen)
    if errors:
        raise Invalid("The clocks are not valid.", errors=errors)
