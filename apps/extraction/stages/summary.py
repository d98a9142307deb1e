"""Extend the summary of a chat before unsummarised messages outgrow the model's context."""

from apps.chats.models import Message
from apps.extraction.parsers.summary import parse_summary
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.stages.texts import text_outcome
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory, VersionedText
from apps.memories.queries.memories import active_memories
from apps.memories.queries.texts import current_version

MIN_MESSAGES = 4
MAX_KNOWN_MEMORIES = 30  # memories shown to the model, which the summary need not repeat


def run(context: Context, window: Window) -> StageOutcome:
    """Extend the summary with the oldest unsummarised messages once those fill the context.

    One batch per step is enough, since a window is no longer than a batch.
    """
    if not window.turns:
        return NO_OUTCOME
    current = current_version(context.chat, VersionedText.Kind.SUMMARY)
    unsummarised = _unsummarised(context, current, window.messages[-1].index)
    limit = context.settings.summary_share * (context.backend.context_tokens - context.settings.summary_tokens)
    if len(unsummarised) < MIN_MESSAGES or sum(count_tokens(turn.mes) for turn in unsummarised.values()) < limit:
        return NO_OUTCOME
    batch = _oldest_fitting(context, unsummarised)
    if not batch:
        return NO_OUTCOME
    memories = active_memories(context.chat, Memory.Tier.SESSION, None).order_by("-importance", "-pk")
    known = list(memories.values_list("text", flat=True)[:MAX_KNOWN_MEMORIES])
    material = {"summary": current.text if current else "", "turns": turns_material(batch), "known": known}
    reply = context.ask("summary", material, max_tokens=context.settings.summary_tokens)
    summary = parse_summary(reply)
    if not summary.text:
        return StageOutcome(unused=[reply[:1000]])
    last = batch[max(batch)]

    return text_outcome(
        context,
        VersionedText.Kind.SUMMARY,
        current,
        counted_as="summary",
        text=context.attributed(summary.text, material),
        parts={
            "sections": {str(number): text for number, text in summary.sections.items()},
            "messages": last.index + 1,
        },
        last=last,
    )


def _unsummarised(context: Context, current: VersionedText | None, last: int) -> dict[int, Message]:
    """Return the turns after those in the summary, up to index ``last``."""
    first = current.source.index + 1 if current and current.source else 0
    rows = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, index__gte=first, index__lte=last)
    return Window(list(rows.remembered().with_swipes().order_by("index"))).turns


def _oldest_fitting(context: Context, unsummarised: dict[int, Message]) -> dict[int, Message]:
    """Return the oldest turns that fit into a prompt, without the newest ones, which are never summarised."""
    old = list(unsummarised.items())[: -context.settings.summary_keep]
    batch: dict[int, Message] = {}
    budget = context.token_budget
    for number, turn in old:
        budget -= count_tokens(turn.mes)
        if batch and budget < 0:
            break
        batch[number] = turn
    return batch
