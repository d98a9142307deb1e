"""Start, extend, resume, skip, cancel and dismiss runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.chats.locking import lock_chat
from apps.chats.models import Chat, Message
from apps.common import jobs
from apps.common.scoping import Owner
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import (
    end_of_window,
    forget_read_from,
    messages_to_extract,
    retry_refused,
    skip_to,
)
from apps.extraction.runs.estimates import estimate
from apps.extraction.runs.queries import asks_first, end_of_rounds, is_read_only, tiers_of
from apps.extraction.settings.schema import READING_TIERS, tier_names


@dataclass(frozen=True)
class RunOrder:
    """What a run is asked to do: to extract ``tiers``, or those that the settings switch on.

    ``from_index`` makes messages from there on count as new once the run begins, ``refused`` those that the model
    refused to read. ``agreed``: a person has agreed to the estimate. ``automatic``: nobody asked for it; of a group it
    reads no further than to the end of the last round that is over. ``whole``: the newest reply is read, too, since
    it won't be swiped any more.
    """

    tiers: Sequence[str] = ()
    from_index: int | None = None
    refused: bool = False
    agreed: bool = False
    automatic: bool = False
    whole: bool = False


@transaction.atomic
def start_run(owner: Owner, chat: Chat, **options: Any) -> tuple[ExtractionRun, bool]:
    """Return a run over the chat's new messages that does what a RunOrder with ``options`` asks for.

    Also return whether it was created. If a run of the chat is open, it is extended by what it lacks, unless the order
    is automatic. The window is fixed here, and ends before the newest reply, which may still be swiped. A run that is
    expected to send more tokens than the setting ``ask_above`` is created paused, until a person resumes it, unless
    they have agreed before. Raise Missing.
    """
    order = RunOrder(**options)
    chat = lock_chat(owner, chat.pk)
    open_run = chat.runs.open().select_for_update().first()
    if open_run is not None:
        return (open_run if order.automatic else _extended(open_run, chat, order)), False
    if order.refused:
        retry_refused(chat)
    return _create(chat, order, tiers_of(chat, order.tiers)), True


def request_run(owner: Owner, chat: Chat, *, asked: bool = False, **options: Any) -> tuple[ExtractionRun, bool]:
    """Start a run as ``start_run`` does, and queue it on commit. ``asked`` tells that a person waits for it."""
    with transaction.atomic():
        run, created = start_run(owner, chat, **options)
        if asked:
            _mark_as_asked(run)
        if run.unsent:
            jobs.send_on_commit(run)
    return run, created


def resume_run(run: ExtractionRun, *, asked: bool = False) -> ExtractionRun:
    """Resume a paused run, and queue it on commit. ``asked`` tells that a person waits for it."""
    with transaction.atomic():
        # Locked, so that of two requests to resume it only one sends a message. Its steps can still be written.
        run = ExtractionRun.objects.for_owner(run.owner_id).select_for_update(no_key=True).get(pk=run.pk)
        is_sent = run.is_active and not run.is_waiting
        if asked:
            _mark_as_asked(run)
        run = jobs.resume(run)
        if run.is_active and not is_sent:
            jobs.send_on_commit(run)
    return run


def _mark_as_asked(run: ExtractionRun) -> None:
    """Have a run that has not ended come before those that nobody waits for."""
    run.asked = bool(ExtractionRun.objects.for_owner(run.owner_id).open().filter(pk=run.pk).update(asked=True))


def _create(chat: Chat, order: RunOrder, tiers: Sequence[str]) -> ExtractionRun:
    reading, end = _reading(tiers), _end_of(chat, order)
    again = order.from_index is not None
    new = messages_to_extract(chat, reading, order.from_index or 0, end, again=again)
    expected = estimate(chat, reading, order.from_index or 0, end, again=again)
    asks = not order.agreed and asks_first(chat, expected)
    run = ExtractionRun.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        tiers=tiers,
        again=again,
        first=new.first(),
        last=new.last(),
        chat_rev=chat.rev,
        estimate=expected,
        state=jobs.Job.State.PAUSED if asks else jobs.Job.State.QUEUED,
        waits_for=ExtractionRun.WaitReason.AGREEMENT if asks else "",
    )
    run.unsent = not asks
    jobs.job_changed.send(ExtractionRun, job=run, state=run.state)
    return run


def _extended(run: ExtractionRun, chat: Chat, order: RunOrder) -> ExtractionRun:
    """Return an open run, locked like its chat, after adding to it what it lacks of an order.

    A worker that has it lets go at its next heartbeat, so that the next one begins with all of it. What it has read is
    not read again, unless the order says so.
    """
    asked, end = tiers_of(chat, order.tiers), _end_of(chat, order)
    tiers = [tier for tier in tier_names() if tier in run.tiers or tier in asked]
    begins_again = order.from_index is not None and not _begins_at(run, order.from_index, asked)
    if begins_again:
        forget_read_from(chat, _reading(asked), order.from_index or 0)
    refused = retry_refused(chat) if order.refused else 0
    new = messages_to_extract(chat, _reading(tiers), 0, end)  # with those that have just been forgotten
    first, last = new.first(), new.last()
    is_agreement = order.agreed and run.waits_for == ExtractionRun.WaitReason.AGREEMENT
    if not (begins_again or refused or is_agreement or tiers != run.tiers or _leaves(run, first, last)):
        return run
    run.tiers, run.again, run.chat_rev = tiers, run.again or begins_again, chat.rev
    run.first = min(filter(None, (run.first, first)), key=attrgetter("index"), default=None)
    run.last = max(filter(None, (run.last, last)), key=attrgetter("index"), default=None)
    _put_back(run, estimate(chat, _reading(tiers), 0, end), agreed=order.agreed)
    return run


def _put_back(run: ExtractionRun, expected: dict[str, Any], *, agreed: bool) -> None:
    """Save an extended run and take it from its worker. It is paused if a person has to agree to what it takes now."""
    grows = expected.get("prompt_tokens", 0) > run.estimate.get("prompt_tokens", 0)
    asks = grows and not agreed and asks_first(run.chat, expected)
    if asks and run.is_active:
        run.state, run.waits_for = jobs.Job.State.PAUSED, ExtractionRun.WaitReason.AGREEMENT
    elif run.state == jobs.Job.State.RUNNING or (agreed and run.waits_for == ExtractionRun.WaitReason.AGREEMENT):
        run.state, run.waits_for, run.unsent = jobs.Job.State.QUEUED, "", True
    run.estimate, run.stage, run.claim, run.claims = expected, "", None, 0
    run.heartbeat_at = timezone.now()  # else the sweep takes one that has waited for long for one without a message
    run.save()
    run.extended = True
    jobs.job_changed.send(ExtractionRun, job=run, state=run.state)


def _begins_at(run: ExtractionRun, index: int, tiers: Sequence[str]) -> bool:
    """Return whether a run that has not begun is to read the messages from an index on again, for the tiers."""
    covers = run.again and not run.done and run.first is not None and run.first.index <= index
    return covers and set(tiers) <= set(run.tiers)


def _leaves(run: ExtractionRun, first: Message | None, last: Message | None) -> bool:
    """Return whether a run does not reach from the first to the last message that is to be read."""
    if first is None or last is None:
        return False
    begins_later = run.again and run.first is not None and run.first.index > first.index
    return begins_later or run.last is None or run.last.index < last.index


def _reading(tiers: Sequence[str]) -> list[str]:
    return [tier for tier in tiers if tier in READING_TIERS]


def _end_of(chat: Chat, order: RunOrder) -> int:
    """Return the index at which what is asked for ends, exclusive."""
    if is_read_only(chat):
        return 0
    if order.whole:
        return chat.message_count
    return end_of_rounds(chat) if order.automatic else end_of_window(chat)


@transaction.atomic
def skip_messages(run: ExtractionRun) -> ExtractionRun:
    """Cancel a run that has not ended, and let the messages that it would read count as read by its tiers."""
    chat = lock_chat(run.owner_id, run.chat_id)
    run = jobs.cancel(run)
    skip_to(chat, _reading(run.tiers), run.last.index + 1 if run.last else end_of_window(chat))
    return run


def on_chat_deleted(chat: Chat, **kwargs: Any) -> None:
    """Cancel the open run of a chat that is put into the bin."""
    cancel_open_runs(chat)


def cancel_open_runs(chat: Chat) -> None:
    """Cancel the chat's open run, if there is one."""
    for run in chat.runs.open():
        jobs.cancel(run)


def dismiss(run: ExtractionRun) -> ExtractionRun:
    """Don't show the failure of a run that has ended any more, nor the messages that could not be read until then."""
    ended = ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk).exclude(state__in=jobs.OPEN_STATES)
    run.dismissed = bool(ended.update(dismissed=True))
    return run
