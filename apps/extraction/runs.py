"""The life of an extraction run: started, claimed by a worker, advanced step by step, paused, and ended.

A run belongs to the worker whose claim stands on its row. A worker that was thought dead and is not finds its claim
gone at its next sign of life, and stops there.
"""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat, Message
from apps.common import clock
from apps.common.scoping import system_scope
from apps.extraction.models import ExtractionRun, ModelCall, RunStep
from apps.extraction.progress import forget_readings, mark_read, unread
from apps.extraction.settings.queries import settings_of
from apps.extraction.settings.schema import TIERS
from apps.memories.models import ChatMemory
from apps.memories.queries import chat_memory_of

READING_TIERS = (
    "summary",
    "scenes",
    "epistemic",
    "session",
    "long_term",
    "arcs",
    "ledger",
)  # what reads message by message
MAX_CLAIMS = 5  # workers that may die at the same step
ACTIVE = Q(state__in=[ExtractionRun.State.QUEUED, ExtractionRun.State.RUNNING])
OPEN = ACTIVE | Q(state=ExtractionRun.State.PAUSED)


class ClaimLost(Exception):
    """The run was paused or cancelled, or another worker has taken it over."""


@dataclass(frozen=True)
class StepResult:
    """What a stage over one window came to: how its lines were judged, and those that it could not use."""

    stage: str
    window: str
    messages: Sequence[Message] = ()
    character: Character | None = None
    unused_lines: Sequence[str] = ()
    counts: dict[str, int] = field(default_factory=dict)


@transaction.atomic
def start_run(
    owner: Any, chat: Chat, *, tiers: Sequence[str] = (), from_index: int | None = None
) -> tuple[ExtractionRun, bool]:
    """A run over what is new in the chat, and whether it was made now: one that has not ended is returned as it is.

    Its window ends before the newest reply, which may still be swiped, and is fixed here. ``from_index`` has what
    stands from there on read again.
    """
    chat = lock_chat(owner, chat.pk)
    open_run = chat.runs.filter(OPEN).first()
    if open_run:
        return open_run, False
    wanted = [tier for tier in TIERS if (tier in tiers if tiers else getattr(settings_of(chat), tier))]
    reading = [tier for tier in wanted if tier in READING_TIERS]
    if from_index is not None:
        forget_readings(chat, reading, from_index)
    end = 0 if is_read_only(chat) else end_of_window(chat)
    new = unread(chat, reading, from_index or 0, end)
    run = ExtractionRun.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        tiers=wanted,
        again=from_index is not None,
        first=new.first(),
        last=new.last(),
        chat_rev=chat.rev,
    )
    return run, True


def is_read_only(chat: Chat) -> bool:
    return chat_memory_of(chat).mode == ChatMemory.Mode.READ_ONLY


def is_due(chat: Chat, *, since: int = 0) -> bool:
    """Whether enough is new, or something before what was read has changed, from index ``since`` on."""
    settings, end = settings_of(chat), end_of_window(chat)
    tiers = [tier for tier in READING_TIERS if getattr(settings, tier)]
    if not tiers or is_read_only(chat):
        return False
    new = list(unread(chat, tiers, since, end).values_list("index", flat=True)[: settings.extract_every])
    if len(new) >= settings.extract_every:
        return True
    return any(index + len(new) - place < end for place, index in enumerate(new))


def end_of_window(chat: Chat) -> int:
    """The index at which a window ends: that of the newest message where it is a reply."""
    newest = Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()
    if newest is None:
        return 0
    return newest.index + 1 if newest.is_user else newest.index


def claim_run(run_id: UUID) -> ExtractionRun | None:
    """Take a run that waits, or whose worker gives no sign of life; None where there is nothing to take.

    A run at whose step MAX_CLAIMS workers have died is ended instead.
    """
    now, claim = clock.now(), uuid.uuid4()
    dead = Q(state=ExtractionRun.State.RUNNING) & (Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - _patience()))
    with system_scope():
        free = ExtractionRun.objects.filter(Q(state=ExtractionRun.State.QUEUED) | dead, pk=run_id)
        free.filter(claims__gte=MAX_CLAIMS).update(
            state=ExtractionRun.State.FAILED,
            error=f"Its worker stopped {MAX_CLAIMS} times at the same step.",
            finished_at=now,
            stage="",
        )
        taken = free.filter(claims__lt=MAX_CLAIMS).update(
            state=ExtractionRun.State.RUNNING,
            claim=claim,
            claims=F("claims") + 1,
            heartbeat_at=now,
            started_at=Coalesce(F("started_at"), now),
        )
        return (
            ExtractionRun.objects.select_related("owner", "chat__character", "first", "last").get(pk=run_id)
            if taken
            else None
        )


def _patience() -> dt.timedelta:
    return dt.timedelta(seconds=settings.RUN_HEARTBEAT_TIMEOUT)


def _ours(run: ExtractionRun) -> Any:
    return ExtractionRun.objects.for_owner(run.owner_id).filter(
        pk=run.pk, claim=run.claim, state=ExtractionRun.State.RUNNING
    )


def beat(run: ExtractionRun, **fields: Any) -> None:
    """Give a sign of life, and note ``fields``. Raises ClaimLost where the run is no longer ours to go on with."""
    if not _ours(run).update(heartbeat_at=clock.now(), **fields):
        raise ClaimLost


def finish_step(run: ExtractionRun, result: StepResult) -> None:
    """Record a step in the transaction that writes what it found. Raises ClaimLost."""
    locked = _ours(run).select_for_update().first()
    if locked is None:
        raise ClaimLost
    RunStep.objects.create(
        owner_id=run.owner_id,
        run=run,
        stage=result.stage,
        window=result.window,
        character=result.character,
        first=result.messages[0] if result.messages else None,
        last=result.messages[-1] if result.messages else None,
        unused_lines=list(result.unused_lines),
        counts=result.counts,
    )
    locked.done += 1
    locked.total = max(locked.total, locked.done)
    locked.counts = dict(Counter(locked.counts) + Counter(result.counts))
    locked.claims = 0
    locked.heartbeat_at = clock.now()
    locked.save(update_fields=["done", "total", "counts", "claims", "heartbeat_at"])


@transaction.atomic
def note_call(run: ExtractionRun, call: ModelCall) -> None:
    """Keep a call of a model, and add it to what the run used. Raises ClaimLost where the run is gone."""
    locked = ExtractionRun.objects.for_owner(run.owner_id).select_for_update().filter(pk=run.pk).first()
    if locked is None:
        raise ClaimLost
    call.save(force_insert=True)
    used = {"calls": 1, "prompt_tokens": call.prompt_tokens, "completion_tokens": call.completion_tokens}
    locked.llm = {name: locked.llm.get(name, 0) + amount for name, amount in used.items()}
    locked.save(update_fields=["llm"])


def yield_run(run: ExtractionRun) -> None:
    """Give a run of ours back to the queue, so that others have their turn."""
    _ours(run).update(state=ExtractionRun.State.QUEUED, claim=None, claims=0, heartbeat_at=clock.now())


def end_run(run: ExtractionRun, state: str, error: str = "") -> None:
    """Close a run that is still ours."""
    whole = {"total": F("done")} if state == ExtractionRun.State.SUCCEEDED else {}
    ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk, claim=run.claim).filter(ACTIVE).update(
        state=state, error=error, finished_at=clock.now(), stage="", **whole
    )


def cancel_run(run: ExtractionRun) -> ExtractionRun:
    """Stop a run: at once where it waits, within seconds where a model is being asked. What it wrote stays."""
    mine = ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk)
    mine.filter(OPEN).update(state=ExtractionRun.State.CANCELLED, claim=None, finished_at=clock.now(), stage="")
    return mine.get()


def pause_run(run: ExtractionRun) -> ExtractionRun:
    """Have a run stop where it is until it is resumed. The step under way is done again then."""
    mine = ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk)
    mine.filter(ACTIVE).update(state=ExtractionRun.State.PAUSED, claim=None, stage="")
    return mine.get()


def resume_run(run: ExtractionRun) -> ExtractionRun:
    """Put a paused run back into the queue."""
    mine = ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk)
    mine.filter(state=ExtractionRun.State.PAUSED).update(
        state=ExtractionRun.State.QUEUED, claims=0, heartbeat_at=clock.now()
    )
    return mine.get()


def skip_unread(chat: Chat) -> None:
    """Take what is new in the chat as read, without learning from it."""
    while found := list(unread(chat, READING_TIERS, 0, chat.message_count).with_swipes()[:1000]):
        mark_read(chat, found, READING_TIERS)


def runs_to_revive() -> list[UUID]:
    """Runs that wait or stand still for too long: their task was lost, or their worker died.

    Each is returned once in a while only, since being returned counts as a sign of life of its queue.
    """
    now = clock.now()
    lost = Q(heartbeat_at=None, created_at__lt=now - _patience()) | Q(heartbeat_at__lt=now - _patience())
    with system_scope():
        ids = list(ExtractionRun.objects.filter(ACTIVE & lost).values_list("pk", flat=True))
        ExtractionRun.objects.filter(pk__in=ids, state=ExtractionRun.State.QUEUED).update(heartbeat_at=now)
    return ids


def latest_run(owner: Any, chat: Chat) -> ExtractionRun | None:
    return ExtractionRun.objects.for_owner(owner).filter(chat=chat).order_by("-pk").first()
