"""The pipeline: a run goes through the new messages of its chat chunk by chunk, stage after stage, then closes.

Nothing is locked while a model is asked. A step is worked out, and written in one transaction that checks that the
messages it read are still the same, and that the run is still ours.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, transaction

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Message
from apps.common.problems import Missing
from apps.extraction import progress as readings
from apps.extraction import runs
from apps.extraction.invalidation import invalidate_chat
from apps.extraction.models import ExtractionProgress, ExtractionRun, RunStep
from apps.extraction.settings.queries import settings_of
from apps.extraction.stages import (
    arcs,
    canon,
    consolidation,
    continuity,
    epistemic,
    extraction,
    ledger,
    profiles,
    scenes,
    summary,
)
from apps.extraction.stages.context import Context, Outcome, Window
from apps.llm.backends import backend_for
from apps.llm.generation import GenerationFailed
from apps.llm.tokens import count_tokens
from apps.memories.witnesses import learners

ATTEMPTS = 3  # at a step whose messages change while it works
TURN = 240.0  # seconds after which a run lets others have theirs

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Stage:
    """A stage of the pipeline: whose tier it belongs to, what does it, and, in a group, for each member or once."""

    name: str
    tier: str
    take: Callable[[Context, Window], Outcome]
    each_member: bool = False


READING = (
    Stage("summary", "summary", summary.take),
    Stage("scenes", "scenes", scenes.take),
    Stage("epistemic", "epistemic", epistemic.take),
    Stage("session", "session", extraction.take_session),
    Stage("session_consolidation", "session", consolidation.take_session),
    Stage("long_term", "long_term", extraction.take_long_term, each_member=True),
    Stage("long_term_consolidation", "long_term", consolidation.take_long_term, each_member=True),
    Stage("arcs", "arcs", arcs.take),
    Stage("ledger", "ledger", ledger.take),
)
CLOSING = (
    Stage("profiles", "profiles", profiles.take, each_member=True),
    Stage("canon", "canon", canon.take, each_member=True),
    Stage("continuity", "continuity", continuity.take),
)


class MessagesChanged(Exception):
    """The messages that a step read were written before it could store what it found."""


def execute(run_id: UUID) -> bool:
    """Go on with a run from its first unfinished step; whether it is to be sent to a worker again, since it took long.

    A run that is somebody else's is left alone.
    """
    run = runs.claim_run(run_id)
    if run is None:
        return False
    try:
        if not _walk(run):
            runs.yield_run(run)
            return True
    except runs.ClaimLost:
        log.info("run_given_up", run=str(run.pk))
    except (GenerationFailed, MessagesChanged, Missing) as error:
        runs.end_run(run, ExtractionRun.State.FAILED, str(error))
    except (OperationalError, InterfaceError):
        raise  # the database went away: without a sign of life the run is taken up again
    except Exception:
        runs.end_run(run, ExtractionRun.State.FAILED, "Something went wrong on our side.")
        raise
    else:
        runs.end_run(run, ExtractionRun.State.SUCCEEDED)
    return False


def _walk(run: ExtractionRun) -> bool:
    """Whether the run came to its end within a turn."""
    end = time.monotonic() + TURN
    backend = backend_for(run.owner)
    context = Context(run, settings_of(run.chat), backend)
    runs.beat(run, backend=backend.name, model=backend.model)
    return all(time.monotonic() <= end for _ in _steps(context))


def _steps(context: Context) -> Iterator[None]:
    """Take every step that is not finished yet; a value after each."""
    invalidate_chat(context.owner_id, context.chat.pk)  # word of a change may still be on its way
    if _reading_tiers(context) and not context.run.done and _next_window(context) is None:
        return
    members = learners(context.chat)
    yield from _read(context, members)
    yield from _wave(context, CLOSING, Window([]), members)


def _read(context: Context, members: Sequence[Character | None]) -> Iterator[None]:
    """Window after window, until nothing is new. One that changes while it is read is taken anew."""
    attempts = 0
    while window := _next_window(context):
        try:
            yield from _wave(context, READING, window, members)
            with transaction.atomic():
                _check_unchanged(context.run, window.messages)
                readings.mark_read(context.chat, window.messages, _reading_tiers(context))
        except MessagesChanged:
            attempts += 1
            if attempts == ATTEMPTS:
                raise
            _give_up(context, window)
        else:
            attempts = 0


def _give_up(context: Context, window: Window) -> None:
    """What was made of a window whose text has changed is taken back, so that it is read anew from its first step."""
    invalidate_chat(context.owner_id, context.chat.pk)
    context.run.steps.filter(window=window.key).delete()


def _wave(
    context: Context, stages: Sequence[Stage], window: Window, members: Sequence[Character | None]
) -> Iterator[None]:
    """All stages of the run's tiers over one window."""
    tiers = _pending(context, window)
    steps = [
        (stage, member)
        for stage in stages
        if stage.tier in tiers
        for member in (members if stage.each_member else [None])
    ]
    rows = RunStep.objects.for_owner(context.owner_id).filter(run=context.run, window=window.key)
    finished = set(rows.values_list("stage", "character_id"))
    for stage, member in steps:
        if (stage.name, member.pk if member else None) not in finished:
            _take(context, stage, window, member)
            yield


def _pending(context: Context, window: Window) -> set[str]:
    """Those of the run's tiers that have not read the window yet; all of them where there is none."""
    if not window.messages:
        return set(context.run.tiers)
    rows = ExtractionProgress.objects.for_owner(context.owner_id).filter(
        message__in=[one.pk for one in window.messages]
    )
    read = [set(tiers) for tiers in rows.values_list("tiers", flat=True)]
    by_all = set.intersection(*read) if len(read) == len(window.messages) else set()
    return set(context.run.tiers) - by_all


def _take(context: Context, stage: Stage, window: Window, member: Character | None) -> None:
    """One step: worked out, checked and written. Raises MessagesChanged, Missing, GenerationFailed, ClaimLost."""
    runs.beat(context.run, stage=stage.name)
    context.stage, context.character = stage.name, member or context.chat.character
    outcome = stage.take(context, window)
    with transaction.atomic():
        _check_unchanged(context.run, window.messages)
        _lock_character(context)
        readings.mark_read(context.chat, window.messages, [])  # in this form: what changes from now on is noticed
        counts = outcome.write()
        result = runs.StepResult(stage.name, window.key, window.messages, member, outcome.unused, dict(counts))
        runs.finish_step(context.run, result)


def _lock_character(context: Context) -> None:
    """Several chats of a character may be read at once, and write about the same people."""
    if context.character is not None:
        mine = Character.objects.for_owner(context.owner_id).filter(pk=context.character.pk)
        list(mine.select_for_update().values_list("pk"))


def _reading_tiers(context: Context) -> list[str]:
    return [tier for tier in context.run.tiers if tier in runs.READING_TIERS]


def _next_window(context: Context) -> Window | None:
    """The next messages that follow each other and are new to one of the run's tiers; None where none are left."""
    tiers = _reading_tiers(context)
    if not tiers:
        return None
    start, end = _bounds(context.run)
    new = readings.unread(context.chat, tiers, max(start, context.position), end)
    if context.position > start and not new.exists():
        new = readings.unread(context.chat, tiers, start, end)  # what changed behind us
    if context.position == 0 and (count := new.count()):
        _estimate(context, count)
    messages: list[Message] = []
    room = context.room
    for message in new.with_swipes()[: context.settings.chunk]:
        room -= count_tokens(message.mes)
        if messages and (room < 0 or message.index != messages[-1].index + 1):
            break
        messages.append(message)
    context.position = messages[0].index if messages else 0
    return Window(messages) if messages else None


def _bounds(run: ExtractionRun) -> tuple[int, int]:
    """From where to where the run reads, by where its first and last message stand now; nowhere in a chat that has
    been made read-only."""
    if runs.is_read_only(run.chat):
        return 0, 0
    stand = dict(
        Message.objects.for_owner(run.owner_id)
        .filter(pk__in=[pk for pk in (run.first_id, run.last_id) if pk])
        .values_list("pk", "index")
    )
    end = stand[run.last_id] + 1 if run.last_id in stand else runs.end_of_window(run.chat)
    return stand.get(run.first_id, 0) if run.again else 0, end


def _estimate(context: Context, new: int) -> None:
    """Note how many steps there will be, as far as one can tell."""
    members = len(learners(context.chat))
    reading, closing = (
        sum(members if stage.each_member else 1 for stage in stages if stage.tier in context.run.tiers)
        for stages in (READING, CLOSING)
    )
    done = context.run.steps.count()
    runs.beat(context.run, total=done + ceil(new / context.settings.chunk) * reading + closing)


def _check_unchanged(run: ExtractionRun, messages: Sequence[Message]) -> None:
    """With the chat locked, see that the messages stand as they were read. Raises MessagesChanged, Missing."""
    chat = lock_chat(run.owner_id, run.chat_id)
    ids = [message.pk for message in messages]
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=ids)
    stand = dict(rows.values_list("pk", "rev"))
    if stand != {message.pk: message.rev for message in messages}:
        raise MessagesChanged("The messages changed again and again while they were read.")
