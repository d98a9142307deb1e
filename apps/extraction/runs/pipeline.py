"""Execute extraction runs: reading stages over each window of new messages, then closing stages over the chat.

Nothing is locked during a model call. A step's result is written in one transaction, which checks that the
messages it read have not changed and that this worker still owns the run.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction
from django.db.models import F

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat, ChatChange, Message
from apps.common import jobs
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.problems import Missing
from apps.common.stored_texts import gettext_stored
from apps.extraction import progress
from apps.extraction.models import UNUSED, ExtractionRun, RunStep
from apps.extraction.prompts.rendering import templates_of
from apps.extraction.reading.stages import Stage, closing_stages, reading_stages
from apps.extraction.runs.waiting import wait_on_failure
from apps.extraction.runs.windows import next_windows, pending_tiers, reading_tiers
from apps.extraction.settings.plans import ReadingPlan, plan_for
from apps.extraction.settings.stores import settings_of
from apps.extraction.steps import recording
from apps.extraction.steps.asking import Asker
from apps.extraction.steps.context import Context, StageOutcome, Window
from apps.llm.backends.selection import backend_for
from apps.llm.generation import Refused, get_backend
from apps.memories.models import Memory
from apps.memories.witnesses import learners

MAX_ATTEMPTS = 3  # attempts at a window whose messages change while they are read

REVS = CompiledQuery(
    lambda owner, chat, ids: (
        Message.objects.for_owner(owner).filter(chat=chat, pk__any=ids, withheld=False).values_list("pk", "rev")
    )
)


class MessagesChanged(Exception):
    """Messages changed between the time a step read them and the time it stored its result."""


class ReadingAborted(MessagesChanged):
    """Messages changed while a model read them, and the call was given up."""


def execute(run_id: UUID) -> bool:
    """Run or resume a run to its end, whatever time it takes. Do nothing if the run can't be claimed."""
    run = jobs.claim(ExtractionRun, run_id)
    return run is not None and execute_claimed(run, max_seconds=math.inf)


def execute_claimed(run: ExtractionRun, *, max_seconds: float = jobs.SLICE_SECONDS) -> bool:
    """Resume a claimed run from its first unfinished step. Return True if it was re-queued after ``max_seconds``.

    If the model can't be called, the run waits and keeps its finished steps.
    """
    with jobs.fail_on_error(run, MessagesChanged, Missing), wait_on_failure(run):
        deadline = time.monotonic() + max_seconds
        context = _context_of(run)
        backend = context.small or context.backend
        run.backend, run.model = backend.name, backend.model
        jobs.heartbeat(run, backend=run.backend, model=run.model, waits_for="")
        for _ in _run_steps(context):
            if time.monotonic() > deadline:
                jobs.requeue(run)
                return True
        jobs.end(run, ExtractionRun.State.SUCCEEDED, total=F("done"))
    return False


def _context_of(run: ExtractionRun) -> Context:
    """Return the context of a run: a small model answers plain questions, the built-in reader does the rest."""
    # Once a run: with other settings, its second window would be read by other stages than its first.
    model, settings, own = backend_for(run.owner), settings_of(run.chat), templates_of(run.owner_id)
    plan = plan_for(run.owner_id, settings, model)
    if plan in (ReadingPlan.ONE, ReadingPlan.SEPARATE):
        return Context(run, settings, Asker(run, model, templates=own))
    small = model if plan == ReadingPlan.SMALL else None
    return Context(run, settings, Asker(run, get_backend(), templates=own), small=small)


def _run_steps(context: Context) -> Iterator[None]:
    """Run every unfinished step, and yield after each."""
    progress.invalidate_chat(context.owner_id, context.chat.pk)  # the task that follows an edit may not have run yet
    if context.run.again and not context.run.done and context.run.first is not None:
        progress.forget_read_from(context.chat, reading_tiers(context), context.run.first.index)
    windows = next_windows(context)
    if reading_tiers(context) and not context.run.done and not windows:
        return  # nothing is new, so that texts about the chat as a whole need no renewal either
    members = learners(context.chat)
    attempts = 0
    while True:
        yield from _read_windows(context, windows, members)
        try:
            yield from _run_stages(context, closing_stages(), Window([]), members)
        except MessagesChanged as change:
            attempts += not isinstance(change, ReadingAborted)
            if attempts == MAX_ATTEMPTS:
                raise
            progress.invalidate_chat(context.owner_id, context.chat.pk)
            windows = next_windows(context)
        else:
            return


def _read_windows(context: Context, windows: Sequence[Window], members: Sequence[Character | None]) -> Iterator[None]:
    """Read windows until no message is new. Read a window again if it changes in the meantime."""
    stages = reading_stages(context) if windows else []
    attempts = 0
    while windows:
        steps = 0
        try:
            for window in windows:
                for _ in _run_stages(context, stages, window, members):
                    steps += 1
                    yield
        except MessagesChanged as change:
            attempts += not isinstance(change, ReadingAborted)  # each of which needs another change
            if attempts == MAX_ATTEMPTS:
                raise
            # Retire the memories of the old text, and start the window from its first step.
            progress.invalidate_chat(context.owner_id, context.chat.pk)
            _forget_steps(context.run, windows)
        else:
            attempts = 0
            if not steps:
                # The steps are finished, but their tiers are to read the window again.
                _forget_steps(context.run, windows)
        windows = next_windows(context, windows[0].messages[0].index)


def _forget_steps(run: ExtractionRun, windows: Sequence[Window]) -> None:
    run.steps.filter(window__in=[window.key for window in windows]).delete()


def _run_stages(
    context: Context, stages: Sequence[Stage], window: Window, members: Sequence[Character | None]
) -> Iterator[None]:
    """Run the unfinished stages of the run's tiers over one window, and yield after each."""
    rows = RunStep.objects.for_owner(context.owner_id).filter(run=context.run, window=window.key)
    finished = {(row.stage, row.character_id): row.error for row in rows}
    # A tier that has read the window may have a stage left that merges what it learnt.
    begun = {tier for stage in stages for tier in stage.tiers if stage.name in {name for name, _ in finished}}
    tiers = pending_tiers(context, window) | begun & set(context.run.tiers)
    steps = [
        (stage, member)
        for stage in stages
        if tiers.intersection(stage.tiers)
        for member in (members if stage.per_member else [None])
    ]
    context = replace(context, tiers=tiers)
    refused: set[str] = set()  # the stages for which the model refused to read the window
    for number, (stage, member) in enumerate(steps):
        key = stage.name, member.pk if member else None
        if key not in finished:
            # A stage has read the window after its last member.
            ends = stage.reads and window.is_last and stage not in [later for later, _ in steps[number + 1 :]]
            finished[key] = _run_step(context, Step(stage, window, member, ends, stage.name in refused))
            yield
        if finished[key]:
            refused.add(stage.name)


@dataclass(frozen=True)
class Step:
    """A stage over one window, in a group for one ``member`` if the stage is for each.

    If ``ends``, the window counts as read after it, or as refused if it was refused here or (``was_refused``) for
    another member.
    """

    stage: Stage
    window: Window
    member: Character | None
    ends: bool
    was_refused: bool


def _run_step(context: Context, step: Step) -> str:
    """Run a step and write its result. Return why the model refused, or "".

    Raise MessagesChanged, Missing, GenerationFailed, ClaimLost.
    """
    stage, window = step.stage, step.window
    jobs.heartbeat(context.run, stage=stage.name)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        context = context.at_step(stage.name, step.member, window, _abort_if_changed)
        character = context.character
        try:
            outcome = stage.outcome(context, window)
        except Refused as failure:
            outcome = StageOutcome(error=failure.detail)
        with transaction.atomic():
            _check_unchanged(context, window)
            if outcome.writes and character is not None:
                # Runs of other chats of the character may write about the same things.
                rows = Character.objects.for_owner(context.owner_id).filter(pk=character.pk)
                list(rows.select_for_update().values_list("pk"))
            if attempt == MAX_ATTEMPTS or not (outcome.writes and _was_learnt_elsewhere(context)):
                _write_step(context, step, outcome)
                break
    return outcome.error


def _write_step(context: Context, step: Step, outcome: StageOutcome) -> None:
    """Write a step's result and that its window was read, with the chat locked. Raise ClaimLost."""
    stage, window = step.stage, step.window
    tiers = [tier for tier in stage.tiers if tier in context.tiers] if step.ends else []
    is_refused = step.was_refused or bool(outcome.error) or _is_refused_in_part(context.run, stage, window)
    # The fingerprints of the messages are stored even if no tier has read them, so that an edit is noticed.
    progress.record_read(
        context.chat, window.messages, [] if is_refused else tiers, refused=tiers if is_refused else []
    )
    counts = sum((write() for write in outcome.writes), Counter(context.notes.counts))
    if outcome.error and stage.reads:
        counts["refused"] += 1
    # The members of a group are each told of by the same lines.
    unused = list(dict.fromkeys([*outcome.unused, *context.notes.unused]))
    if unused:
        counts[UNUSED] = len(unused)
    finished = RunStep(
        owner_id=context.owner_id,
        run=context.run,
        stage=stage.name,
        window=window.key,
        character=step.member,
        first=window.messages[0] if window.messages else None,
        last=window.messages[-1] if window.messages else None,
        unused_lines=unused,
        error=outcome.error,
        counts=dict(counts),
    )
    recording.finish_step(context.run, finished)


def _is_refused_in_part(run: ExtractionRun, stage: Stage, window: Window) -> bool:
    """Return whether the model refused to read another part of the message that the window is a part of."""
    if window.part is None:
        return False
    return run.steps.filter(stage=stage.name, first=window.messages[0]).exclude(error="").exists()


def _check_unchanged(context: Context, window: Window) -> None:
    """Lock the chat and check that no message that the step has read has changed. Raise MessagesChanged, Missing."""
    chat = lock_chat(context.owner_id, context.run.chat_id)
    if not _is_unchanged(context, window, chat):
        raise MessagesChanged(gettext_stored("The messages kept changing while they were read."))


def _abort_if_changed(context: Context, window: Window) -> None:
    """Check as ``_check_unchanged`` does, without a lock, during a call of a model. Raise ReadingAborted."""
    state = progress.state_of(context.owner_id, context.run.chat_id)
    if state is None or (state[0] == context.read_rev and state[1] <= context.read_without):
        return
    chat = Chat.objects.for_owner(context.owner_id).filter(pk=context.run.chat_id).first()
    if chat is not None and not _is_unchanged(context, window, chat):
        raise ReadingAborted(gettext_stored("The messages kept changing while they were read."))


def _is_unchanged(context: Context, window: Window, chat: Chat) -> bool:
    """Return whether no message has changed of those that the step may have read.

    Those are the window's messages, which were read before the step began, all before them, and others that it names.
    One that moderators have withheld since is changed too.
    """
    # A message of the window may be read again, and have changed in between: what counts is how it was first.
    read = [*context.notes.also_read, *window.messages]
    rows = REVS.rows(chat.owner_id, chat.pk, [message.pk for message in read])
    is_same = not read or dict(rows) == {message.pk: message.rev for message in read}
    end = window.messages[-1].index if window.messages else context.read_to
    if chat.rev != context.read_rev:
        changes = ChatChange.objects.for_owner(chat.owner_id).filter(chat=chat, rev__gt=context.read_rev)
        for reordered, changed, deleted in changes.values_list("reordered", "message_ids", "deleted_ids"):
            earlier = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=changed, index__lte=end)
            is_same = is_same and not (reordered or deleted or earlier.exists())
    return is_same and progress.withheld_in(chat) <= context.read_without


def _was_learnt_elsewhere(context: Context) -> bool:
    """Return whether a run of another chat has learnt something about the step's character since the step began.

    The step has not compared its candidates with that. Must be called with the character locked.
    """
    if context.character is None:
        return False
    rows = Memory.objects.for_owner(context.owner_id).filter(
        character=context.character, tier=Memory.Tier.LONG_TERM, created_at__gte=context.step_began
    )
    return rows.exclude(chat=context.chat).exists()
