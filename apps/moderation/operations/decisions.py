"""Decide cases, and take decisions back."""

import datetime as dt
import re
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.accounts.models import User
from apps.accounts.operations import ban, end_suspension, lift_ban, suspend
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import system_scope
from apps.moderation.models import Action, Case, Decision
from apps.moderation.operations.audit import record, require
from apps.moderation.operations.cases import decided_already, lock_case_for, refuse_claimed, refuse_own, save_case
from apps.moderation.operations.notices import tell_owner, tell_reporters
from apps.moderation.operations.withholding import give_back, withhold

MAX_DAYS = 3650
UNDO_TIME = dt.timedelta(minutes=10)
DAYS_IN_AUDIT = re.compile(r" \[\d+ days\]\Z")  # after the reason of a suspension in the audit log
PERMISSIONS: dict[str, str] = {Decision.SUSPEND: "suspend_user", Decision.BAN: "ban_user"}


@transaction.atomic
def decide(
    moderator: User, case_id: UUID, decision: str, *, reason: str, days: int = 7, also_hide: bool = False
) -> Case:
    """Decide an open case, and tell those concerned. Raise Conflict, Invalid, PermissionDenied.

    ``reason`` is told to the owner. ``days`` are those of a suspension.
    """
    require(moderator, PERMISSIONS.get(Decision(decision), "decide_case"))
    reason = _required(reason)
    if not 1 <= days <= MAX_DAYS:
        raise Invalid.at("/days", f"The days must be between 1 and {MAX_DAYS}.")
    case = lock_case_for(moderator, case_id)
    refuse_own(moderator, case)
    if case.state != Case.State.OPEN:
        raise Conflict(decided_already(case))
    refuse_claimed(moderator, case)
    hides = decision == Decision.HIDE or (also_hide and decision != Decision.DISMISS)
    now = timezone.now()
    until = now + dt.timedelta(days=days) if decision == Decision.SUSPEND else None
    save_case(
        case,
        state=Case.State.DECIDED,
        assigned_to=moderator,
        decision=decision,
        decided_by=moderator,
        decided_at=now,
        hides=hides,
        is_answered=False,
        suspended_until=until,
    )
    if hides:
        withhold(case)
    owner = _locked_owner(case)
    _stop_owner(moderator, owner, decision, until, reason)
    detail = f"{reason} [{days} days]" if decision == Decision.SUSPEND else reason
    record(moderator, f"{decision} + hide" if hides and decision != Decision.HIDE else decision, case, detail)
    if decision != Decision.DISMISS:
        tell_owner(case, decision, reason, until=owner.suspended_until)
    tell_reporters(case, decision)
    return case


def _required(reason: str) -> str:
    if not reason.strip():
        raise Invalid.at("/reason", "A decision needs a reason.")
    return reason.strip()


def _stop_owner(moderator: User, owner: User, decision: str, until: dt.datetime | None, reason: str) -> None:
    """Suspend or ban the owner of a case if that is the decision. Raise Conflict for staff."""
    if decision in (Decision.SUSPEND, Decision.BAN) and owner.is_staff and not moderator.is_superuser:
        raise Conflict("Only a superuser suspends or bans staff.")
    if until is not None:
        suspend(owner, until=until, reason=reason)
    elif decision == Decision.BAN:
        ban(owner)


@transaction.atomic
def reverse(moderator: User, case_id: UUID, *, reason: str) -> Case:
    """Take a decision back: show the thing again, end the suspension, lift the ban. Raise Conflict, Invalid."""
    case = lock_case_for(moderator, case_id)
    require(moderator, PERMISSIONS.get(Decision(case.decision), "decide_case") if case.decision else "decide_case")
    refuse_own(moderator, case)
    if case.decision not in (Decision.HIDE, Decision.SUSPEND, Decision.BAN):
        raise Conflict("There is nothing to take back.")
    reason = _required(reason)
    taken_back = case.decision
    save_case(case, decision=Decision.REVERSE, hides=False, is_answered=False)
    _take_back(case, taken_back)
    record(moderator, f"reverse {taken_back}", case, reason)
    tell_owner(case, Decision.REVERSE, reason)
    return case


@transaction.atomic
def undo(moderator: User, case_id: UUID) -> Case:
    """Take back a decision that the moderator has just made, and put its case into the queue again. Raise Conflict."""
    case = lock_case_for(moderator, case_id)
    require(moderator, PERMISSIONS.get(Decision(case.decision), "decide_case") if case.decision else "decide_case")
    if not can_be_undone(moderator, case):
        raise Conflict(gettext("There is nothing to undo any more: open the case to take its decision back."))
    with system_scope():
        again = Case.objects.filter(kind=case.kind, target_id=case.target_id, state=Case.State.OPEN).exists()
    if again:
        raise Conflict(gettext("It was reported again meanwhile: decide that case instead."))
    taken_back = case.decision
    save_case(case, state=Case.State.OPEN, decision="", decided_by=None, decided_at=None, hides=False)
    _take_back(case, taken_back)
    save_case(case, was_hidden=False)  # its owner may show the memory before it is hidden again
    record(moderator, f"undo {taken_back}", case)
    if taken_back != Decision.DISMISS:
        tell_owner(case, Decision.REVERSE, "")
    tell_reporters(case, Decision.REVERSE)
    return case


def can_be_undone(moderator: User, case: Case) -> bool:
    """Return whether this moderator has decided the case within UNDO_TIME, and nobody has answered."""
    if case.decision in ("", Decision.REVERSE) or case.decided_at is None or case.is_answered:
        return False
    return case.decided_by_id == moderator.pk and case.decided_at > timezone.now() - UNDO_TIME


def _take_back(case: Case, decision: str) -> None:
    """Undo what a decision did, as far as no other one still asks for it."""
    owner = _locked_owner(case)
    give_back(case)
    others = Case.objects.for_owner(owner).filter(decision=decision).exclude(pk=case.pk)
    if decision == Decision.SUSPEND:
        longest = others.filter(suspended_until__gt=timezone.now()).order_by("-suspended_until").first()
        end_suspension(owner)
        if longest is not None and longest.suspended_until is not None:
            suspend(owner, until=longest.suspended_until, reason=_reason_of_suspension(longest))
    elif decision == Decision.BAN and not others.exists():
        lift_ban(owner)


def _reason_of_suspension(case: Case) -> str:
    """Return the reason with which a case suspended its owner: the audit log keeps it, with the days."""
    entries = Action.objects.filter(case_id=case.pk, verb__in=(Decision.SUSPEND, f"{Decision.SUSPEND} + hide"))
    latest = entries.order_by("-at", "-pk").values_list("reason", flat=True).first()
    return DAYS_IN_AUDIT.sub("", latest or "")


@transaction.atomic
def uphold(moderator: User, case_id: UUID, *, reason: str) -> Case:
    """Leave a decision as it is after the owner's answer. Raise Conflict without a decision and an answer, Invalid.

    An answer to a decision that was undone may come after a dismissal, of which owners are told nothing.
    """
    require(moderator, "decide_case")
    case = lock_case_for(moderator, case_id)
    refuse_own(moderator, case)
    if not case.is_answered or case.state == Case.State.OPEN:
        raise Conflict("No answer waits.")
    reason = _required(reason)
    save_case(case, is_answered=False)
    record(moderator, "uphold", case, reason)
    if case.decision != Decision.DISMISS:
        tell_owner(case, case.decision, f"Your answer was read; the decision stands. {reason}")
    return case


def _locked_owner(case: Case) -> User:
    return User.objects.select_for_update(no_key=True).get(pk=case.owner_id)
