"""The words that bring a memory up."""

from collections.abc import Mapping, Sequence

from apps.extraction.parsers.triggers import parse_triggers, words_in
from apps.extraction.stages.context import Context
from apps.llm.generation import GenerationFailed
from apps.memories.models import Memory
from apps.memories.operations.remembering import Stage
from apps.memories.verdicts import Outcome
from apps.memories.wording import STOP_WORDS

TOKENS_A_MEMORY = 40
OWN, ALL = 6, 12  # words of a memory's own, and with those that a model suggests
LEAST = 4  # letters of a word of its own


def triggers_of(context: Context, stage: Stage) -> Mapping[int, Sequence[str]]:
    """By the number of the verdict, for what is new: words of its own, and, from a hosted model, related ones."""
    new = {
        number: verdict.candidate.text
        for number, verdict in enumerate(stage.verdicts)
        if verdict.outcome in (Outcome.PASSED, Outcome.SUPERSEDED)
    }
    words = {number: own_words(text) for number, text in new.items()}
    if not new or stage.tier != Memory.Tier.LONG_TERM or not context.settings.model_triggers:
        return words
    return words | {
        number: tuple(dict.fromkeys([*words[number], *more]))[:ALL] for number, more in _asked(context, new)
    }


def own_words(text: str) -> tuple[str, ...]:
    """The words of a memory that can bring it up by themselves, the longest first."""
    words = {word for word in words_in(text) if len(word) >= LEAST and word not in STOP_WORDS}
    return tuple(sorted(words, key=lambda word: (-len(word), word))[:OWN])


def _asked(context: Context, new: Mapping[int, str]) -> list[tuple[int, tuple[str, ...]]]:
    """What the model suggests. Without it a memory is found all the same, so that a failure fails nothing."""
    material = {"memories": [{"number": number, "text": text} for number, text in new.items()]}
    try:
        reply = context.ask("triggers", material, max_tokens=TOKENS_A_MEMORY * len(new))
    except GenerationFailed:
        return []
    found = parse_triggers(reply, list(new)).words
    return [(number, more) for number, more in found.items() if number in new]
