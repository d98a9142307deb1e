"""Looks of moderators at what is private: with a reason, logged, and for a limited time."""

import datetime as dt
from uuid import UUID

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.problems import Invalid, Missing
from apps.common.scoping import system_scope
from apps.moderation.models import Case, Look, Reason
from apps.moderation.operations.audit import record, require
from apps.moderation.operations.cases import lock_case_for
from apps.moderation.targets import Target, chat_target

MIN_REASON = 10  # characters


@transaction.atomic
def look_at_case(moderator: User, case_id: UUID, reason: str = "") -> Look:
    """Open what a case is about. Without a report a reason has to be typed: raise Invalid."""
    require(moderator, "look_at_content")
    case = lock_case_for(moderator, case_id)
    if not case.reasons:
        _require_reason(reason)
    grounds = reason.strip() or f"Reported: {Reason(case.reasons[0]).label}"
    return _open(moderator, Target(case.kind, case.target_id, case.owner_id, case.chat_id), grounds, case)


@transaction.atomic
def look_at_chat(moderator: User, chat_id: UUID, reason: str) -> Look:
    """Open a chat that no case is about, for a typed reason. Raise Invalid, Missing."""
    require(moderator, "look_at_chat")
    _require_reason(reason)
    with system_scope():
        chat = Chat.objects.filter(pk=chat_id).first()
    if chat is None:
        raise Missing("There is no such chat.")
    return _open(moderator, chat_target(chat), reason.strip())


def _require_reason(reason: str) -> None:
    if len(reason.strip()) < MIN_REASON:
        raise Invalid.at("/reason", f"Say why, in at least {MIN_REASON} characters. The owner will read it.")


def _open(moderator: User, target: Target, reason: str, case: Case | None = None) -> Look:
    now = timezone.now()
    look = Look.objects.create(
        owner_id=target.owner_id,
        moderator=moderator,
        kind=target.kind,
        target_id=target.pk,
        chat_id=target.chat_id,
        case=case,
        reason=reason,
        created_at=now,
        expires_at=now + dt.timedelta(minutes=settings.MODERATION_LOOK_MINUTES),
    )
    record(moderator, "look", look, reason)
    return look


def live_look(moderator: User, look_id: UUID) -> Look:
    """Return a look of this moderator that is not over. Raise PermissionDenied."""
    with system_scope():
        look = Look.objects.filter(pk=look_id, moderator=moderator, expires_at__gt=timezone.now()).first()
    if look is None:
        raise PermissionDenied("This look is over. Open it again, with a reason.")
    require(moderator, "look_at_chat" if look.case_id is None else "look_at_content")
    return look
