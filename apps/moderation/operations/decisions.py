"""Decide cases, and take decisions back."""

import datetime as dt
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.operations import ban, end_suspension, lift_ban, suspend
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import system_scope
from apps.moderation.models import Case, Decision
from apps.moderation.operations.audit import record, require
from apps.moderation.operations.cases import lock_case, refuse_own, save_case
from apps.moderation.operations.notices import tell_owner, tell_reporters
from apps.moderation.operations.withholding import give_back, withhold

MAX_DAYS = 3650
PERMISSIONS: dict[str, str] = {Decision.SUSPEND: "suspend_user", Decision.BAN: "ban_user"}


@transaction.atomic
def decide(
    moderator: User, case_id: UUID, decision: str, *, reason: str, days: int = 7, also_hide: bool = False
) -> Case:
    """Decide an open case, and tell those concerned. Raise Conflict, Invalid, PermissionDenied.

    ``reason`` is told to the owner. ``days`` are those of a suspension.
    """
    require(moderator, PERMISSIONS.get(Decision(decision), "decide_case"))
    if not reason.strip():
        raise Invalid.at("/reason", "A decision needs a reason.")
    if not 1 <= days <= MAX_DAYS:
        raise Invalid.at("/days", f"The days must be between 1 and {MAX_DAYS}.")
    case = lock_case(case_id)
    refuse_own(moderator, case)
    if case.state != Case.State.OPEN:
        raise Conflict("This case is decided already.")
    if case.assigned_to_id not in (None, moderator.pk):
        raise Conflict("Another moderator has claimed this case.")
    hides = decision == Decision.HIDE or (also_hide and decision != Decision.DISMISS)
    now = timezone.now()
    save_case(
        case,
        state=Case.State.DECIDED,
        assigned_to=moderator,
        decision=decision,
        decided_by=moderator,
        decided_at=now,
        hides=hides,
    )
    if hides:
        withhold(case)
    owner = _locked_owner(case)
    if decision in (Decision.SUSPEND, Decision.BAN) and owner.is_staff and not moderator.is_superuser:
        raise Conflict("Only a superuser suspends or bans staff.")
    if decision == Decision.SUSPEND:
        suspend(owner, until=now + dt.timedelta(days=days), reason=reason)
    elif decision == Decision.BAN:
        ban(owner)
    detail = f"{reason.strip()} [{days} days]" if decision == Decision.SUSPEND else reason.strip()
    record(moderator, f"{decision} + hide" if hides and decision != Decision.HIDE else decision, case, detail)
    if decision != Decision.DISMISS:
        tell_owner(case, decision, reason.strip(), until=owner.suspended_until)
    tell_reporters(case, decision)
    return case


@transaction.atomic
def reverse(moderator: User, case_id: UUID, *, reason: str) -> Case:
    """Take a decision back: show the thing again, end the suspension, lift the ban. Raise Conflict, Invalid."""
    case = lock_case(case_id)
    require(moderator, PERMISSIONS.get(Decision(case.decision), "decide_case") if case.decision else "decide_case")
    refuse_own(moderator, case)
    if case.decision not in (Decision.HIDE, Decision.SUSPEND, Decision.BAN):
        raise Conflict("There is nothing to take back.")
    if not reason.strip():
        raise Invalid.at("/reason", "A decision needs a reason.")
    owner = _locked_owner(case)
    taken_back = case.decision
    save_case(case, decision=Decision.REVERSE, hides=False, is_answered=False)
    give_back(case)
    with system_scope():
        others = Case.objects.filter(owner=owner, decision=taken_back).exists()
    if not others and taken_back == Decision.SUSPEND:
        end_suspension(owner)
    elif not others and taken_back == Decision.BAN:
        lift_ban(owner)
    record(moderator, f"reverse {taken_back}", case, reason.strip())
    tell_owner(case, Decision.REVERSE, reason.strip())
    return case


@transaction.atomic
def uphold(moderator: User, case_id: UUID, *, reason: str) -> Case:
    """Leave a decision as it is after the owner's answer. Raise Conflict without an answer, Invalid."""
    require(moderator, "decide_case")
    case = lock_case(case_id)
    refuse_own(moderator, case)
    if not case.is_answered:
        raise Conflict("No answer waits.")
    if not reason.strip():
        raise Invalid.at("/reason", "A decision needs a reason.")
    save_case(case, is_answered=False)
    record(moderator, "uphold", case, reason.strip())
    tell_owner(case, case.decision, f"Your answer was read; the decision stands. {reason.strip()}")
    return case


def _locked_owner(case: Case) -> User:
    return User.objects.select_for_update(no_key=True).get(pk=case.owner_id)
