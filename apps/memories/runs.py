"""The life of an extraction run: started, claimed by a worker, advanced stage by stage, and ended.

A run belongs to the worker whose claim stands on its row. A worker that was thought dead and is not finds its claim
gone at its next step, and stops there.
"""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce

from apps.chats.models import Chat, Message
from apps.chats.operations import lock_chat
from apps.common import clock
from apps.common.scoping import system_scope
from apps.memories.models import ExtractionRun, Memory, RunStep

TIERS = (Memory.Tier.SESSION.value, Memory.Tier.LONG_TERM.value)  # the order of a run's stages
ACTIVE = Q(state__in=[ExtractionRun.State.QUEUED, ExtractionRun.State.RUNNING])


class ClaimLost(Exception):
    """The run was cancelled, or another worker has taken it over."""


@dataclass(frozen=True)
class StepResult:
    """What a stage over one chunk came to: the reply as it was, and how its lines were judged."""

    position: int
    stage: str
    messages: Sequence[Message]
    reply: str = ""
    unused_lines: Sequence[str] = ()
    counts: dict[str, int] | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


@transaction.atomic
def start_run(
    owner: Any, chat: Chat, *, tiers: Sequence[str] = (), from_index: int | None = None
) -> tuple[ExtractionRun, bool]:
    """A run over what is new in the chat, and whether it was made now: one under way is returned as it is.

    Its window ends before the newest reply, which may still be swiped, and is fixed here.
    """
    chat = lock_chat(owner, chat.pk)
    under_way = chat.runs.filter(ACTIVE).first()
    if under_way:
        return under_way, False
    wanted = [tier for tier in TIERS if not tiers or tier in tiers]
    start = first_new_index(chat, wanted) if from_index is None else from_index
    window = Message.objects.for_owner(owner).filter(chat=chat, index__gte=start, index__lt=end_of_window(chat))
    first, last = window.order_by("index").first(), window.order_by("-index").first()
    run = ExtractionRun.objects.create(
        owner_id=chat.owner_id, chat=chat, tiers=wanted, first=first, last=last, chat_rev=chat.rev
    )
    return run, True


def first_new_index(chat: Chat, tiers: Sequence[str] = TIERS) -> int:
    """The index from which one of the tiers has not been read yet."""
    steps = RunStep.objects.for_owner(chat.owner_id).filter(run__chat=chat, stage__in=tiers)
    read = dict(steps.values_list("stage").annotate(Max("last__index")))
    return min(0 if read.get(tier) is None else read[tier] + 1 for tier in tiers)


def end_of_window(chat: Chat) -> int:
    """The index at which a window ends: that of the newest message where it is a reply."""
    newest = Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()
    if newest is None:
        return 0
    return newest.index + 1 if newest.is_user else newest.index


def claim_run(run_id: UUID) -> ExtractionRun | None:
    """Take a run that waits, or whose worker gives no sign of life; None where there is nothing to take."""
    now, claim = clock.now(), uuid.uuid4()
    dead = Q(state=ExtractionRun.State.RUNNING) & (Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - _patience()))
    with system_scope():
        taken = ExtractionRun.objects.filter(Q(state=ExtractionRun.State.QUEUED) | dead, pk=run_id).update(
            state=ExtractionRun.State.RUNNING,
            claim=claim,
            heartbeat_at=now,
            started_at=Coalesce(F("started_at"), now),
        )
        return ExtractionRun.objects.select_related("chat", "first", "last").get(pk=run_id) if taken else None


def _patience() -> dt.timedelta:
    return dt.timedelta(seconds=settings.RUN_HEARTBEAT_TIMEOUT)


def beat(run: ExtractionRun, *, stage: str, total: int) -> None:
    """Give a sign of life before a step. Raises ClaimLost where the run is no longer ours to go on with."""
    ours = ExtractionRun.objects.for_owner(run.owner_id).filter(
        pk=run.pk, claim=run.claim, state=ExtractionRun.State.RUNNING, cancel_requested=False
    )
    if not ours.update(heartbeat_at=clock.now(), stage=stage, total=total):
        raise ClaimLost


def finish_step(run: ExtractionRun, result: StepResult) -> None:
    """Record a step in the transaction that writes what it found. Raises ClaimLost."""
    locked = (
        ExtractionRun.objects.for_owner(run.owner_id)
        .select_for_update()
        .filter(pk=run.pk, claim=run.claim, state=ExtractionRun.State.RUNNING)
        .first()
    )
    if locked is None:
        raise ClaimLost
    RunStep.objects.create(
        owner_id=run.owner_id,
        run=run,
        position=result.position,
        stage=result.stage,
        first=result.messages[0],
        last=result.messages[-1],
        reply=result.reply,
        unused_lines=list(result.unused_lines),
        counts=result.counts or {},
    )
    locked.done += 1
    locked.counts = dict(Counter(locked.counts) + Counter(result.counts or {}))
    used = {"calls": 1, "prompt_tokens": result.prompt_tokens, "completion_tokens": result.completion_tokens}
    locked.llm = {name: locked.llm.get(name, 0) + amount for name, amount in used.items()}
    locked.heartbeat_at = clock.now()
    locked.save(update_fields=["done", "counts", "llm", "heartbeat_at"])


def end_run(run: ExtractionRun, state: str, error: str = "") -> None:
    """Close a run that is still ours."""
    ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk, claim=run.claim).filter(ACTIVE).update(
        state=state, error=error, finished_at=clock.now(), stage=""
    )


def cancel_run(run: ExtractionRun) -> ExtractionRun:
    """Stop a run: at once where it waits, before its next step where it runs. What it wrote stays."""
    mine = ExtractionRun.objects.for_owner(run.owner_id).filter(pk=run.pk)
    mine.filter(ACTIVE).update(
        cancel_requested=True, state=ExtractionRun.State.CANCELLED, finished_at=clock.now(), stage=""
    )
    return mine.get()


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
