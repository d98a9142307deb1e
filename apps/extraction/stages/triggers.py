"""Find trigger words of memories: words in a message that make a memory relevant."""

from collections.abc import Mapping, Sequence

from apps.extraction.parsers.triggers import parse_triggers
from apps.extraction.stages.context import Context
from apps.llm.generation import Refused
from apps.memories.models import Memory
from apps.memories.operations.verdicts import VerdictBatch
from apps.memories.trigger_words import MAX_WORDS, longest_words
from apps.memories.verdicts.judging import Outcome

TOKENS_PER_MEMORY = 40


def find_triggers(context: Context, batch: VerdictBatch) -> Mapping[int, Sequence[str]]:
    """Return trigger words of the new memories by the position of their verdict.

    They come from the text; for long-term memories also from the model, after a reading or if the setting is on.
    """
    new = {
        number: verdict.candidate.text
        for number, verdict in enumerate(batch.verdicts)
        if verdict.outcome in (Outcome.PASSED, Outcome.SUPERSEDED)
    }
    words = {number: longest_words(text) for number, text in new.items()}
    if context.replies:
        suggested = [(number, batch.verdicts[number].candidate.triggers) for number in new]
    elif new and batch.tier == Memory.Tier.LONG_TERM and context.settings.model_triggers:
        suggested = _suggested(context, new)
    else:
        suggested = []
    return words | {number: tuple(dict.fromkeys([*words[number], *added]))[:MAX_WORDS] for number, added in suggested}


def _suggested(context: Context, new: Mapping[int, str]) -> list[tuple[int, tuple[str, ...]]]:
    """Return the words that the model suggests, by number; none if it fails, since they are not essential."""
    material = {"memories": [{"number": number, "text": text} for number, text in new.items()]}
    try:
        reply = context.ask("triggers", material, max_tokens=TOKENS_PER_MEMORY * len(new))
    except Refused:
        return []
    found = parse_triggers(reply, list(new))
    context.unused += found.unused
    return [(number, added) for number, added in found.words.items() if number in new]
