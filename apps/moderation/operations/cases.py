"""What a moderator does with a case before deciding it: claim, release, note."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.accounts.models import User
from apps.common.problems import Conflict, Missing
from apps.common.scoping import system_scope
from apps.moderation.models import Case
from apps.moderation.operations.audit import record, require, require_kind


def lock_case(case_id: UUID) -> Case:
    """Return a case, locked until the transaction ends. Raise Missing."""
    with system_scope():  # a moderator works on the things of all owners
        case = Case.objects.select_for_update(of=("self",)).filter(pk=case_id).first()
    if case is None:
        raise Missing(gettext("There is no such case any more."))
    return case


def lock_case_for(moderator: User, case_id: UUID) -> Case:
    """Return a case about a kind of thing that the moderator may see, locked. Raise Missing, PermissionDenied."""
    case = lock_case(case_id)
    require_kind(moderator, case.kind)
    return case


def save_case(case: Case, **fields: object) -> None:
    """Update fields of a locked case."""
    for name, value in fields.items():
        setattr(case, name, value)
    case.save(update_fields=[*fields, "updated_at"])


def refuse_own(moderator: User, case: Case) -> None:
    """Raise Conflict if the thing is the moderator's own."""
    if case.owner_id == moderator.pk:
        raise Conflict(gettext("This is your own. Another moderator has to decide it."))


def refuse_claimed(moderator: User, case: Case) -> None:
    """Raise Conflict if another moderator has claimed the case, with their address."""
    if case.assigned_to_id not in (None, moderator.pk):
        raise Conflict(gettext("%(name)s has claimed this case.") % {"name": case.assigned_to})


def decided_already(case: Case) -> str:
    """Return who decided a case, and how."""
    name = case.decided_by or gettext("a moderator whose account is gone")
    decision = case.get_decision_display()
    return gettext("This case is decided already: %(decision)s, by %(name)s.") % {"decision": decision, "name": name}


@transaction.atomic
def claim(moderator: User, case_id: UUID) -> Case:
    """Assign an open case to the moderator. Raise Conflict if another one has it, or decided it."""
    require(moderator, "decide_case")
    case = lock_case_for(moderator, case_id)
    refuse_own(moderator, case)
    if case.state != Case.State.OPEN:
        raise Conflict(decided_already(case))
    refuse_claimed(moderator, case)
    if case.assigned_to_id is None:
        save_case(case, assigned_to=moderator)
        record(moderator, "claim", case)
    return case


@transaction.atomic
def release(moderator: User, case_id: UUID) -> Case:
    """Give an open case back to the queue. Do nothing if nobody has claimed it."""
    require(moderator, "decide_case")
    case = lock_case_for(moderator, case_id)
    if case.state == Case.State.OPEN and case.assigned_to_id is not None:
        save_case(case, assigned_to=None)
        record(moderator, "release", case)
    return case


@transaction.atomic
def note(moderator: User, case_id: UUID, text: str) -> Case:
    """Add a note for other moderators, which is an entry of the audit log. Raise Conflict if it is empty."""
    require(moderator, "decide_case")
    if not text.strip():
        raise Conflict(gettext("A note needs a text."))
    case = lock_case_for(moderator, case_id)
    record(moderator, "note", case, text.strip())
    save_case(case, updated_at=timezone.now())
    return case
