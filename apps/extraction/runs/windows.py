"""Which messages a run reads next."""

from math import ceil

from apps.chats.models import Message
from apps.common import jobs
from apps.extraction import progress
from apps.extraction.models import ExtractionProgress, ExtractionRun
from apps.extraction.progress import end_of_window
from apps.extraction.prompts.transcript import MAX_TURN
from apps.extraction.reading.stages import closing_stages, reading_stages
from apps.extraction.runs.queries import is_read_only
from apps.extraction.settings.schema import READING_TIERS
from apps.extraction.steps.context import Context, Window
from apps.extraction.steps.turns import parts_of
from apps.llm.tokens import count_tokens
from apps.memories.witnesses import learners


def reading_tiers(context: Context) -> list[str]:
    """Return the run's tiers that read messages."""
    return [tier for tier in context.run.tiers if tier in READING_TIERS]


def next_windows(context: Context, position: int = 0) -> list[Window]:
    """Return the next consecutive messages that one of the run's tiers has not read, as a window.

    ``position`` is the index at which the window before it began: earlier messages that have changed are read last.
    Return several windows for a message that is too long for one prompt, none if there are no such messages.
    """
    tiers = reading_tiers(context)
    if not tiers:
        return []
    start, end = _bounds(context.run)
    new = progress.messages_to_extract(context.chat, tiers, max(start, position), end)
    if position > start and not new.exists():
        new = progress.messages_to_extract(context.chat, tiers, start, end)  # earlier messages that have changed
    # Estimated where the run begins: later windows would only make the expected end move.
    if position == 0 and (count := new.count()):
        _estimate_total(context, count)
    messages: list[Message] = []
    budget = context.token_budget
    for message in new.with_swipes()[: context.settings.chunk]:
        budget -= count_tokens(message.mes)
        is_long = budget < 0 or len(message.mes) > MAX_TURN
        # Messages between two new ones have been read, or are left out: a window ends before such a gap.
        if messages and (is_long or message.index != messages[-1].index + 1):
            break
        messages.append(message)
        if is_long:
            break
    if len(messages) == 1 and is_long:
        parts = parts_of(messages[0].mes, context.token_budget, MAX_TURN)
        return [Window(messages, part, number, part is parts[-1]) for number, part in enumerate(parts)]
    return [Window(messages)] if messages else []


def pending_tiers(context: Context, window: Window) -> set[str]:
    """Return the run's tiers that have not read all messages of the window; all tiers for the empty window."""
    if not window.messages:
        return set(context.run.tiers)
    rows = ExtractionProgress.objects.for_owner(context.owner_id).filter(
        message__in=[message.pk for message in window.messages]
    )
    read = [{*row.tiers, *row.refused} for row in rows]
    read_by_all = set.intersection(*read) if len(read) == len(window.messages) else set()
    return set(context.run.tiers) - read_by_all


def _bounds(run: ExtractionRun) -> tuple[int, int]:
    """Return the indexes between which the run reads, the second exclusive.

    They are looked up each time, since earlier messages may be deleted or inserted during a run.
    """
    if is_read_only(run.chat):
        return 0, 0
    ends = [pk for pk in (run.first_id, run.last_id) if pk]
    indexes = dict(Message.objects.for_owner(run.owner_id).filter(pk__in=ends).values_list("pk", "index"))
    end = indexes[run.last_id] + 1 if run.last_id in indexes else end_of_window(run.chat)
    return indexes.get(run.first_id, 0) if run.again else 0, end


def _estimate_total(context: Context, new: int) -> None:
    """Store the expected number of steps for ``new`` messages to extract."""
    members = len(learners(context.chat))
    each_window, closing = (
        sum(members if stage.per_member else 1 for stage in stages if set(stage.tiers) & set(context.run.tiers))
        for stages in (reading_stages(context), closing_stages())
    )
    done = context.run.steps.count()
    jobs.heartbeat(context.run, total=done + ceil(new / context.settings.chunk) * each_window + closing)
