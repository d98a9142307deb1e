"""Tell users what was decided, and take their answers."""

import datetime as dt
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.languages import in_language_of
from apps.common.database.rows import first_or_missing
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import Owner, system_scope
from apps.common.templatetags.languages import inside
from apps.moderation.models import Case, Decision, Notice, Report
from apps.moderation.notice_mail import send_notice
from apps.moderation.operations.cases import lock_case, save_case

TOLD = {
    Decision.HIDE: _("A %(kind)s of yours is hidden: models don't get it any more."),
    Decision.SUSPEND: _("Your account is suspended until %(until)s UTC: you can read and export, but not write."),
    Decision.BAN: _("Your account is closed: you can't sign in any more."),
    Decision.REVERSE: _("A decision about a %(kind)s of yours was taken back."),
}
REPORT_TOLD = {
    Decision.DISMISS: _("Your report was read. Nothing against the rules was found."),
    Decision.HIDE: _("Your report was read, and what you reported was hidden."),
    Decision.SUSPEND: _("Your report was read, and measures were taken."),
    Decision.BAN: _("Your report was read, and measures were taken."),
    Decision.REVERSE: _("Your report is open again: a decision was taken back."),
}


def tell_owner(case: Case, decision: str, reason: str, *, until: dt.datetime | None = None) -> None:
    """Tell the owner of the thing what was decided, and why."""
    with in_language_of(case.owner_id):
        end = date_format(until.astimezone(dt.UTC), gettext("j F Y, H:i")) if until else gettext("further notice")
        told = TOLD[Decision(decision)] % {"kind": inside(case.get_kind_display()), "until": end}
        text = f"{told} {reason}".strip()
    _tell(Notice(owner_id=case.owner_id, case=case, decision=decision, text=text))


def tell_reporters(case: Case, decision: str) -> None:
    """Tell those who reported the thing, without details of what its owner is told, who is not told twice."""
    with system_scope():
        reports = Report.objects.filter(case=case)
        if decision != Decision.DISMISS:
            reports = reports.exclude(owner=case.owner_id)
        reporters = list(reports.values_list("owner_id", flat=True))
    for reporter in reporters:
        with in_language_of(reporter):
            text = str(REPORT_TOLD[Decision(decision)])
        _tell(Notice(owner_id=reporter, case=case, decision=decision, is_about_report=True, text=text))


def _tell(notice: Notice) -> None:
    notice.save(force_insert=True)
    transaction.on_commit(lambda: send_notice.delay(notice_id=str(notice.pk)), robust=True)


@transaction.atomic
def answer(owner: Owner, notice_id: UUID, text: str) -> Notice:
    """Store the answer to a decision, and put its case into the queue again. Raise Missing, Conflict, Invalid."""
    notices = Notice.objects.for_owner(owner)
    notice = first_or_missing(notices.filter(pk=notice_id), "There is no such notice.")
    case = lock_case(notice.case_id)
    if not text.strip():
        raise Invalid.at("/text", "The answer is empty.")
    if notice.answered_at is None and not notice.can_be_answered:
        raise Conflict("This is only for your information.")
    answered = notices.filter(pk=notice_id, answered_at=None).update(answer=text.strip(), answered_at=timezone.now())
    if not answered:
        raise Conflict("You have answered this already.")
    save_case(case, is_answered=True)
    notice.refresh_from_db()
    return notice
