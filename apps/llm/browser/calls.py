"""Calls of a model in the browser: create, claim, answer, cancel and find them.

A process of the server creates a call and awaits its reply; an open page claims it and posts the reply. Both hold a
lease: a call whose page is gone can be claimed by another one, and a call that nobody awaits is withdrawn.
"""

import datetime as dt
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Least
from django.utils import timezone

from apps.common.database.rows import first_or_missing
from apps.common.jobs import lock_owner
from apps.common.problems import Conflict
from apps.common.scoping import OwnedQuerySet, Owner, owner_id_of
from apps.common.stored_texts import gettext_stored
from apps.llm.generation import GenerationRequest, Misconfigured
from apps.llm.models import BrowserCall, Connection
from apps.llm.replies.reply import MAX_CHARACTERS
from apps.llm.signals import announce_generation_change
from apps.llm.values import storable_text

LEASE = dt.timedelta(seconds=30)  # after which another page may claim a call, unless its page renews it
GRACE = dt.timedelta(seconds=8)  # in which a page whose stream ended keeps its call; longer than from beat to beat
AWAITED = dt.timedelta(seconds=30)  # after which nobody waits for a call, unless its process renews it
PRESENCE = dt.timedelta(seconds=20)  # for which a page counts as open after it was last seen
KEPT = dt.timedelta(hours=1)  # for which ended calls are kept, so that a repeated reply is recognized
MAX_ERROR_LENGTH = 500  # characters
State = BrowserCall.State
OPEN_STATES = (State.QUEUED, State.CLAIMED)


class CallLost(Conflict):
    """The page no longer runs the call: another one does, or nobody waits for the reply."""

    def __init__(self) -> None:
        super().__init__("Another page runs this call, or nobody waits for its reply any more.")


# The process that needs the reply


def create_call(connection: Connection, request: GenerationRequest, *, is_urgent: bool) -> BrowserCall:
    """Queue a call of the connection's model. Delete the owner's old calls. Raise Misconfigured."""
    now = timezone.now()
    BrowserCall.objects.for_owner(connection.owner_id).filter(awaited_until__lt=now - KEPT).delete()
    try:
        return BrowserCall.objects.create(
            owner_id=connection.owner_id,
            connection=connection,
            is_urgent=is_urgent,
            request=_document(connection, request),
            awaited_until=now + AWAITED,
        )
    except IntegrityError as error:
        raise Misconfigured(gettext_stored("The connection was deleted.")) from error


def current_call(call: BrowserCall) -> BrowserCall | None:
    """Return the call as it is now, with its connection, or None if the connection was deleted."""
    return _row(call).select_related("connection").defer("request").first()


def renew_call(call: BrowserCall) -> None:
    """Record that somebody still waits for the reply."""
    _row(call).update(awaited_until=timezone.now() + AWAITED)


def finish_call(call: BrowserCall) -> None:
    """Withdraw the call if it has not ended, and delete what it was about."""
    _row(call).filter(state__in=OPEN_STATES).update(state=State.WITHDRAWN, claimed_until=None)
    _row(call).update(request={}, text="")


def _document(connection: Connection, request: GenerationRequest) -> dict[str, Any]:
    return {
        "task": request.task,
        "model": connection.model,
        "messages": request.sent_messages(),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "min_p": request.min_p,
        "repetition_penalty": request.repetition_penalty,
        "stop": [storable_text(text) for text in request.stop],
        "extra_body": connection.extra_body,
    }


def _row(call: BrowserCall) -> OwnedQuerySet[BrowserCall]:
    return BrowserCall.objects.for_owner(call.owner_id).filter(pk=call.pk)


# Pages


def mark_page_open(owner: Owner) -> None:
    """Record that a page of the owner can run calls now. If none could before, announce that calls may succeed."""
    now = timezone.now()
    own = Connection.objects.for_owner(owner).filter(backend=Connection.Backend.BROWSER)
    newly_open = own.filter(Q(page_seen_at=None) | Q(page_seen_at__lt=now - PRESENCE)).exists()
    own.update(page_seen_at=now)
    if newly_open:
        announce_generation_change(owner_id_of(owner))


def is_page_open(seen_at: dt.datetime | None) -> bool:
    """Return whether a page that was last seen at ``seen_at`` still counts as open."""
    return seen_at is not None and seen_at > timezone.now() - PRESENCE


def claimable_calls(owner: Owner) -> OwnedQuerySet[BrowserCall]:
    """Return the calls that a page may claim, in the order in which they are claimed."""
    now = timezone.now()
    left = Q(state=State.CLAIMED, claimed_until__lte=now)
    waiting = BrowserCall.objects.for_owner(owner).filter(Q(state=State.QUEUED) | left, awaited_until__gt=now)
    return waiting.order_by("-is_urgent", "pk")


@transaction.atomic
def claim_call(owner: Owner, page: UUID) -> BrowserCall | None:
    """Claim the next call for a page, and return it. Return the call that the page holds if it has one."""
    lock_owner(owner)  # so that concurrent claims of one page find its call
    now = timezone.now()
    own = BrowserCall.objects.for_owner(owner)
    own.filter(state__in=OPEN_STATES, awaited_until__lte=now).update(state=State.WITHDRAWN, claimed_until=None)
    held = own.filter(state=State.CLAIMED, claimed_by=page)
    # A call that is withdrawn at this moment is no longer found once its row is locked.
    call = held.select_for_update().first() or claimable_calls(owner).select_for_update().first()
    if call is None:
        return None
    if call.claimed_by != page:
        call.text = ""  # of a page that is gone
    call.state, call.claimed_by, call.claimed_until = State.CLAIMED, page, now + LEASE
    call.save(update_fields=["state", "claimed_by", "claimed_until", "text"])
    return call


def record_progress(owner: Owner, call_id: UUID, page: UUID, text: str | None) -> None:
    """Renew the page's lease of a call and store the text so far, if it is given. Raise Missing, CallLost."""
    now = timezone.now()
    changes: dict[str, Any] = {"claimed_until": now + LEASE}
    if text is not None:
        changes["text"] = storable_text(text)[:MAX_CHARACTERS]
    held = BrowserCall.objects.for_owner(owner).filter(state=State.CLAIMED, claimed_by=page, awaited_until__gt=now)
    if not held.filter(pk=call_id).update(**changes):
        access_call(owner, call_id)
        raise CallLost


def answer_call(owner: Owner, call_id: UUID, page: UUID, *, text: str, **fields: Any) -> None:
    """Store the whole reply; ``fields`` are its token counts and ``cut_off``. Raise Missing, CallLost.

    A repeated reply changes nothing.
    """
    _end_call(owner, call_id, page, state=State.ANSWERED, text=storable_text(text)[:MAX_CHARACTERS], **fields)


def fail_call(owner: Owner, call_id: UUID, page: UUID, *, error: str, refused: bool) -> None:
    """Store why the page could not run the call. Raise Missing, CallLost. A repeated error changes nothing."""
    error = storable_text(error)[:MAX_ERROR_LENGTH]
    _end_call(owner, call_id, page, state=State.FAILED, error=error, refused=refused)


def release_calls(owner: Owner, page: UUID) -> None:
    """Let other pages have the page's call after GRACE, unless the page renews it: its stream has ended."""
    held = BrowserCall.objects.for_owner(owner).filter(state=State.CLAIMED, claimed_by=page)
    held.update(claimed_until=Least(F("claimed_until"), timezone.now() + GRACE))


def _end_call(owner: Owner, call_id: UUID, page: UUID, **fields: Any) -> None:
    held = BrowserCall.objects.for_owner(owner).filter(pk=call_id, state=State.CLAIMED, claimed_by=page)
    if held.update(claimed_until=None, **fields):
        return
    call = access_call(owner, call_id)
    if call.claimed_by != page or call.state not in (State.ANSWERED, State.FAILED):
        raise CallLost


def access_call(owner: Owner, call_id: UUID) -> BrowserCall:
    """Return the owner's call. Raise Missing."""
    return first_or_missing(BrowserCall.objects.for_owner(owner).filter(pk=call_id), "There is no such call.")
