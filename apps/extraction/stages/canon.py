"""Canon: settled facts about a character, written from resolved arcs and long-term memories."""

from collections import Counter
from typing import Any

from apps.chats.models import Message
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window
from apps.memories.models import Arc, Memory, VersionedText
from apps.memories.operations.texts import write_version
from apps.memories.queries.memories import active_memories

MAX_TOKENS = 600
MAX_TEXT = 6000  # characters
MAX_ARCS, MAX_MEMORIES = 20, 30
MIN_IMPORTANCE = 2


def run(context: Context, window: Window) -> StageOutcome:
    """Rewrite the canon if the run resolved an arc or the user requested it."""
    arcs = Arc.objects.for_owner(context.owner_id).filter(chat=context.chat, state=Arc.State.RESOLVED)
    is_requested = context.run.tiers == ["canon"]
    if not is_requested and not context.resolved_arcs():
        return NO_OUTCOME
    summaries = _summaries(context, arcs)
    character_id = context.character.pk if context.character else None
    rows = active_memories(context.chat, Memory.Tier.LONG_TERM, character_id)
    rows = rows.filter(importance__gte=MIN_IMPORTANCE, hidden=False).order_by("-pinned", "-importance", "-pk")
    memories = list(rows.values_list("text", flat=True)[:MAX_MEMORIES])
    if not summaries and not memories:
        return NO_OUTCOME
    subject = context.character.name if context.character else context.chat.title
    reply = context.ask("canon", {"subject": subject, "arcs": summaries, "memories": memories}, max_tokens=MAX_TOKENS)
    text = parse_free_text(reply, MAX_TEXT)
    if not text:
        return StageOutcome(unused=["The reply contained no text."])

    def write() -> Counter[str]:
        write_version(
            context.owner_id,
            VersionedText.Kind.CANON,
            chat=None if context.character else context.chat,
            character=context.character,
            text=text,
            run_id=context.run.pk,
        )
        return Counter(canon=1)

    return StageOutcome(write)


def _summaries(context: Context, arcs: Any) -> list[str]:
    """Return summaries of the latest arcs, oldest first; for a group's member, of those whose source they witnessed."""
    rows = list(arcs.exclude(summary="").order_by("-pk")[:MAX_ARCS])[::-1]
    if context.witness is None:
        return [arc.summary for arc in rows]
    sources = Message.objects.for_owner(context.owner_id).with_swipes().in_bulk([arc.source_id for arc in rows])
    witnessed = context.witnessed({number: sources[arc.source_id] for number, arc in enumerate(rows) if arc.source_id})
    return [arc.summary for number, arc in enumerate(rows) if number in witnessed]
