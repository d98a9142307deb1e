"""Start, skip, cancel and dismiss runs."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from apps.chats.locking import lock_chat
from apps.chats.models import Chat
from apps.common import jobs
from apps.common.scoping import Owner
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import READING_TIERS, mark_as_read, messages_to_extract, retry_refused
from apps.extraction.runs.estimates import estimate
from apps.extraction.runs.queries import asks_first, end_of_rounds, end_of_window, is_read_only, tiers_of


@transaction.atomic
def start_run(
    owner: Owner,
    chat: Chat,
    *,
    tiers: Sequence[str] = (),
    from_index: int | None = None,
    refused: bool = False,
    agreed: bool = False,
) -> tuple[ExtractionRun, bool]:
    """Return a run over the chat's new messages, and whether it was created; an open run is returned unchanged.

    The window is fixed here, and ends before the newest reply, which may still be swiped. ``from_index`` makes
    messages from there on count as new once the run begins, ``refused`` those that the model refused to read. A run
    that is expected to send more tokens than the setting ``ask_above`` is created paused, until a person resumes it,
    unless they have ``agreed`` to the estimate before. Raise Missing.
    """
    chat = lock_chat(owner, chat.pk)
    open_run = chat.runs.open().first()
    if open_run:
        return open_run, False
    selected = tiers_of(chat, tiers)
    reading = [tier for tier in selected if tier in READING_TIERS]
    if refused:
        retry_refused(chat)
    end = 0 if is_read_only(chat) else end_of_window(chat)
    again = from_index is not None
    new = messages_to_extract(chat, reading, from_index or 0, end, again=again)
    expected = estimate(chat, reading, from_index or 0, end, again=again)
    asks = not agreed and asks_first(chat, expected)
    run = ExtractionRun.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        tiers=selected,
        again=again,
        first=new.first(),
        last=new.last(),
        chat_rev=chat.rev,
        estimate=expected,
        state=jobs.Job.State.PAUSED if asks else jobs.Job.State.QUEUED,
        waits_for=ExtractionRun.WaitReason.AGREEMENT if asks else "",
    )
    jobs.job_changed.send(ExtractionRun, job=run, state=run.state)
    return run, True


def end_with_round(run: ExtractionRun) -> None:
    """Let a new run of a group read no further than to the end of the last round that is over."""
    if run.chat.is_group:
        reading = [tier for tier in run.tiers if tier in READING_TIERS]
        run.last = messages_to_extract(run.chat, reading, 0, end_of_rounds(run.chat)).last()
        run.save(update_fields=["last"])


def mark_as_asked(run: ExtractionRun) -> None:
    """Have a run that has not ended come before those that nobody waits for."""
    run.asked = bool(ExtractionRun.objects.for_owner(run.owner_id).open().filter(pk=run.pk).update(asked=True))


@transaction.atomic
def skip_messages(run: ExtractionRun) -> ExtractionRun:
    """Cancel a run that has not ended, and mark the messages it would read as read by its tiers, without reading."""
    chat = lock_chat(run.owner_id, run.chat_id)
    run = jobs.cancel(run)
    tiers = [tier for tier in run.tiers if tier in READING_TIERS]
    mark_as_read(chat, tiers, run.last.index + 1 if run.last else end_of_window(chat))
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
