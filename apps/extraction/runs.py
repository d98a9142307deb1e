"""Extraction runs: start one, record its steps and model calls, and find out whether one is due.

Their lifecycle is the same as that of other jobs: see ``apps.common.jobs``.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat, Message
from apps.chats.pages.plugins import Activity
from apps.common import jobs
from apps.common.scoping import Owner
from apps.extraction.estimates import estimate
from apps.extraction.models import ExtractionRun, ModelCall, RunStep
from apps.extraction.progress import mark_extracted, messages_to_extract, retry_refused
from apps.extraction.settings.queries import settings_of
from apps.extraction.settings.schema import TIERS
from apps.llm.queries import generation_connection
from apps.memories.models import ChatMemory

# Tiers that read message by message; the others read a chat as a whole.
READING_TIERS = ("summary", "scenes", "epistemic", "session", "long_term", "arcs", "ledger")

SPEED_STEPS, MIN_SPEED_STEPS = 20, 3  # the newest steps of a run that tell its speed, and how few of them do


@dataclass(frozen=True)
class StepResult:
    """Result of a stage over one window: its counts, and the reply's lines that could not be used.

    ``error`` says why the model refused to read the window.
    """

    stage: str
    window: str
    messages: Sequence[Message] = ()
    character: Character | None = None
    unused_lines: Sequence[str] = ()
    error: str = ""
    counts: dict[str, int] = field(default_factory=dict)


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
    selected = _tiers(chat, tiers)
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


def _tiers(chat: Chat, tiers: Sequence[str] = ()) -> list[str]:
    """Return the tiers that a run extracts: the given ones, else those that the settings switch on."""
    settings = settings_of(chat)
    return [tier for tier in TIERS if (tier in tiers if tiers else getattr(settings, tier))]


def expected_cost(chat: Chat, *, again: bool = False) -> dict[str, Any]:
    """Return the estimate for a run over the chat's new messages, or ``again`` over all; empty without a model."""
    reading = [tier for tier in _tiers(chat) if tier in READING_TIERS]
    return estimate(chat, reading, 0, 0 if is_read_only(chat) else end_of_window(chat), again=again)


def asks_first(chat: Chat, expected: Mapping[str, Any]) -> bool:
    """Return whether a person is asked before a run that is expected to take so much."""
    tokens: int = expected.get("prompt_tokens", 0)
    return tokens > settings_of(chat).ask_above


@transaction.atomic
def skip_messages(run: ExtractionRun) -> ExtractionRun:
    """Cancel a run that has not ended, and mark the messages it would read as read by its tiers, without reading."""
    chat = lock_chat(run.owner_id, run.chat_id)
    run = jobs.cancel(run)
    tiers = [tier for tier in run.tiers if tier in READING_TIERS]
    _mark_as_read(chat, tiers, run.last.index + 1 if run.last else end_of_window(chat))
    return run


def on_chat_deleted(chat: Chat, **kwargs: Any) -> None:
    """Cancel the open run of a chat that is put into the bin."""
    cancel_open_runs(chat)


def cancel_open_runs(chat: Chat) -> None:
    """Cancel the chat's open run, if there is one."""
    for run in chat.runs.open():
        jobs.cancel(run)


def is_read_only(chat: Chat) -> bool:
    """Return whether the chat is in read-only mode, in which nothing is extracted from it."""
    return ChatMemory.of_chat(chat).mode == ChatMemory.Mode.READ_ONLY


def is_due(chat: Chat, *, since: int = 0) -> bool:
    """Return whether a run is due, looking at messages from index ``since`` on.

    A run is due if enough messages are not extracted, or if one of them precedes one that was, because of an edit.
    """
    settings, end = settings_of(chat), end_of_window(chat)
    tiers = [tier for tier in READING_TIERS if getattr(settings, tier)]
    if not tiers or is_read_only(chat):
        return False
    new = list(messages_to_extract(chat, tiers, since, end).values_list("index", flat=True)[: settings.extract_every])
    if len(new) >= settings.extract_every:
        return True
    # New messages are the last ones that are remembered; one with messages after it that have been read was edited.
    later = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__gte=min(new, default=end), index__lt=end)
    return later.remembered().count() > len(new)


def end_of_window(chat: Chat) -> int:
    """Return the index at which a run's window ends, exclusive: that of the newest message if it is a reply."""
    newest = Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()
    if newest is None:
        return 0
    return newest.index + 1 if newest.is_user else newest.index


def finish_step(run: ExtractionRun, result: StepResult) -> None:
    """Record a finished step, in the transaction that writes its result. Raise ClaimLost."""
    locked = jobs.owned(run).select_for_update().first()
    if locked is None:
        raise jobs.ClaimLost
    RunStep.objects.create(
        owner_id=run.owner_id,
        run=run,
        stage=result.stage,
        window=result.window,
        character=result.character,
        first=result.messages[0] if result.messages else None,
        last=result.messages[-1] if result.messages else None,
        unused_lines=list(result.unused_lines),
        error=result.error,
        counts=result.counts,
    )
    locked.done += 1
    locked.total = max(locked.total, locked.done)
    locked.counts = dict(Counter(locked.counts) + Counter(result.counts))
    locked.claims = locked.waits = 0
    locked.heartbeat_at = timezone.now()
    locked.save(update_fields=["done", "total", "counts", "claims", "waits", "heartbeat_at"])


def unusable_replies(run: ExtractionRun, key: str) -> list[ModelCall]:
    """Return the calls of this run with the same key whose replies came but could not be used, in order."""
    calls = ModelCall.objects.for_owner(run.owner_id).filter(run=run, key=key, unusable=True)
    return list(calls.order_by("pk"))


def stored_reply(run: ExtractionRun, key: str) -> ModelCall | None:
    """Return an earlier call with the same key, whose reply may be used again, or None.

    It is a call of this run or, unless a person wants messages to be read or texts to be written again, of the chat.
    """
    calls = ModelCall.objects.for_owner(run.owner_id).filter(key=key, error="")
    is_repetition = run.again or not set(run.tiers) & set(READING_TIERS)
    calls = calls.filter(run=run) if is_repetition else calls.filter(run__chat=run.chat_id)
    return calls.order_by("-pk").first()


@transaction.atomic
def record_call(run: ExtractionRun, call: ModelCall) -> None:
    """Save a model call and add its usage and cost to the run, even a cancelled one.

    Raise ClaimLost if the run was deleted.
    """
    locked = ExtractionRun.objects.for_owner(run.owner_id).select_for_update().filter(pk=run.pk).first()
    if locked is None:
        raise jobs.ClaimLost
    call.save(force_insert=True)
    usage = {"calls": 1, "prompt_tokens": call.prompt_tokens, "completion_tokens": call.completion_tokens}
    total = {name: locked.llm.get(name, 0) + amount for name, amount in usage.items()}
    locked.llm = {**total, **_total_cost(locked, call)}
    locked.save(update_fields=["llm"])


def _total_cost(run: ExtractionRun, call: ModelCall) -> dict[str, str | None]:
    """Return the cost of the run's calls including this one; None if one of them had no price, or another currency."""
    connection = generation_connection(run.owner_id) if run.backend != "builtin" else None
    cost = connection.cost_of(call.prompt_tokens, call.completion_tokens) if connection else None
    if connection is None or cost is None or (run.llm and run.llm.get("currency") != connection.currency):
        return {"cost": None, "currency": None}
    return {"cost": f"{Decimal(run.llm.get('cost', 0)) + cost:f}", "currency": connection.currency}


def mark_all_extracted(chat: Chat) -> None:
    """Mark every message of the chat as extracted, without extracting anything from it."""
    _mark_as_read(chat, READING_TIERS, chat.message_count)


def _mark_as_read(chat: Chat, tiers: Sequence[str], end: int) -> None:
    while batch := list(messages_to_extract(chat, tiers, 0, end).with_swipes()[:1000]):
        mark_extracted(chat, batch, tiers)


def latest_run(owner: Owner, chat: Chat) -> ExtractionRun | None:
    """Return the chat's latest run, or None."""
    return ExtractionRun.objects.for_owner(owner).filter(chat=chat).order_by("-pk").first()


def dismiss(run: ExtractionRun) -> ExtractionRun:
    """Don't show the failure of a run that has ended any more, nor the messages that could not be read until then."""
    ended = ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk).exclude(state__in=jobs.OPEN_STATES)
    run.dismissed = bool(ended.update(dismissed=True))
    return run


def seconds_left(run: ExtractionRun) -> float | None:
    """Return how long the steps left would take at the speed of the run's newest ones, or None if that is unknown."""
    times = list(run.steps.order_by("-finished_at").values_list("finished_at", flat=True)[:SPEED_STEPS])
    if len(times) < MIN_SPEED_STEPS:
        return None
    each = (times[0] - times[-1]).total_seconds() / (len(times) - 1)
    return each * max(run.total - run.done, 0)


def activities(owner: Owner, chat_ids: Collection[UUID]) -> Mapping[UUID, Activity]:
    """Return the progress of the chats' active runs by chat id, for the list of chats."""
    active = ExtractionRun.objects.for_owner(owner).active().filter(chat_id__in=chat_ids)
    return {run.chat_id: Activity(run.done, run.total) for run in active}
