"""Mail about decisions, sent by a Celery task, which ``tasks`` names for workers."""

from typing import Any

from celery import shared_task
from django.conf import settings
from django.core.mail import send_mail
from django.utils import translation
from django.utils.translation import gettext

from apps.accounts.languages import language_of
from apps.common.scoping import system_scope
from apps.moderation.models import Decision, Notice


# The name that messages in queues and schedules have of it.
@shared_task(name="apps.moderation.tasks.send_notice")
def send_notice(*, notice_id: str, **kwargs: Any) -> None:
    """Send a notice by mail if there is a mail server."""
    if settings.EMAIL_BACKEND.endswith("console.EmailBackend"):
        return
    with system_scope():
        notice = Notice.objects.select_related("owner").filter(pk=notice_id).first()
    if notice is None:
        return
    with translation.override(language_of(notice.owner)):
        subject, text = _mail_about(notice)
    send_mail(f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}{subject}", text, None, [notice.owner.email])


def _mail_about(notice: Notice) -> tuple[str, str]:
    page = f"{settings.LOCI_URL.rstrip('/')}/settings/moderation/"
    if notice.decision == Decision.BAN:
        how = gettext("You can reply to this mail.")
    else:
        how = gettext("You can answer here: %(page)s") % {"page": page}
    return gettext("A decision of the moderators"), f"{notice.text}\n\n{how if notice.can_be_answered else page}\n"
