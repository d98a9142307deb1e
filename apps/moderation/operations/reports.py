"""Reports of users, and the case that they open."""

from django.db import transaction
from django.utils.translation import gettext

from apps.common.database.rows import get_or_create_locked
from apps.common.problems import Conflict
from apps.common.scoping import Owner, owner_id_of
from apps.moderation.models import Case, Report
from apps.moderation.targets import Target


def open_case(target: Target) -> Case:
    """Return the open case about a thing, locked until the transaction ends; create it if there is none."""
    # A moderator may decide it before it is locked; then there is another one to create.
    case, _ = get_or_create_locked(
        Case.objects.for_owner(target.owner_id),
        kind=target.kind,
        target_id=target.pk,
        state=Case.State.OPEN,
        defaults={"owner_id": target.owner_id, "chat_id": target.chat_id},
    )
    return case


@transaction.atomic
def report(reporter: Owner, target: Target, *, reason: str, note: str = "") -> Report:
    """Report a thing. Raise Conflict if the reporter has an open report of it."""
    case = open_case(target)
    created, is_new = Report.objects.for_owner(reporter).get_or_create(
        case=case, defaults={"owner_id": owner_id_of(reporter), "reason": reason, "note": note}
    )
    if not is_new:
        raise Conflict(gettext("You have reported this already. You will be told what was decided."))
    if reason not in case.reasons:
        case.reasons.append(reason)
        case.save(update_fields=["reasons", "updated_at"])
    created.case = case
    return created
