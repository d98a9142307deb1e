"""What becomes of proposed memories: verdicts on them, their trigger words, and what is to be written."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, replace
from functools import partial
from uuid import UUID

from apps.chats.models import Message
from apps.english.comparison import Comparison, compare
from apps.extraction.memories.pair_questions import ask_about
from apps.extraction.memories.proposals import Proposals, propose
from apps.extraction.memories.relationships import relationship_changes
from apps.extraction.memories.triggers import parse_triggers
from apps.extraction.steps.context import Context, StageOutcome, Write
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.llm.generation import BUILTIN, Refused
from apps.memories.models import Memory
from apps.memories.operations.verdict_writing import Limits, VerdictBatch, write_verdicts
from apps.memories.trigger_words import MAX_WORDS, longest_words
from apps.memories.verdicts.judging import Compare, Outcome, Verdict, judge
from apps.memories.verdicts.known_statements import Pair, Relation
from apps.memories.witnesses import participants_of

TOKENS_PER_MEMORY = 40  # of the reply with trigger words
UNRELATED = Comparison(superseded=0, duplicate=0, passed=1)


def remember(context: Context, turns: Mapping[int, Message], tier: str, reply: str) -> StageOutcome:
    """Return the outcome of a reply that is about the memories of one tier alone."""
    proposals = propose(context, turns, tier, reply)
    return outcome_of_proposals(context, proposals, ask_about(context, proposals.compared.uncertain_pairs))


def outcome_of_proposals(
    context: Context, proposals: Proposals, answers: Mapping[Pair, Relation] | None
) -> StageOutcome:
    """Return the outcome of a tier's proposals; ``answers`` are a model's, None if none is connected."""
    settings, tier = context.settings, proposals.tier
    verdicts = judge(proposals.compared, answers=answers, compare=comparison_for(context))
    if context.has_model:
        verdicts = _reject_excess(verdicts, settings.new_per_kind, proposals.previous_ids)
    batch = VerdictBatch(
        chat=context.chat,
        tier=tier,
        turns=proposals.turns,
        verdicts=verdicts,
        vectors=proposals.compared.vectors,
        model=proposals.model,
        run_id=context.run.pk,
        character=proposals.character,
        limits=Limits(**{field.name: getattr(settings, field.name) for field in fields(Limits)}),
        participants=participants_of(context.chat) if settings.witnesses_only else (),
        triggers=_find_triggers(context, tier, verdicts),
    )
    writes: list[Write] = [partial(write_verdicts, batch)]
    error = ""
    if tier == Memory.Tier.LONG_TERM:
        try:
            if changes := relationship_changes(context, batch):
                writes.append(changes)
        except Refused as failure:
            error = failure.detail  # the memories are stored without, and the turns can be read again
    return StageOutcome(writes, proposals.unused, error)


def comparison_for(context: Context) -> Compare | None:
    """Return the learned comparison if the built-in extractor is used, else None."""
    return _compare_locally if context.backend.name == BUILTIN else None


def _compare_locally(pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
    """Compare pairs with the local embedding model. If it is unavailable, treat them as unrelated."""
    try:
        return compare(pairs, get_embedder().embed)
    except EmbeddingUnavailable:
        return [UNRELATED] * len(pairs)


def _reject_excess(verdicts: Sequence[Verdict], per_kind: int, previous_ids: Set[UUID]) -> list[Verdict]:
    """Reject new memories beyond ``per_kind`` of a kind, the least important first.

    Memories that supersede others don't count. Memories in ``previous_ids``, which an earlier run extracted from the
    same messages, count towards the limit, so that a repeated run adds none beyond it.
    """
    by_rank = sorted(range(len(verdicts)), key=lambda number: (-verdicts[number].candidate.importance, number))
    kept = Counter(verdict.candidate.kind for verdict in verdicts if verdict.target in previous_ids)
    excess: set[int] = set()
    for number in by_rank:
        verdict = verdicts[number]
        if verdict.outcome == Outcome.PASSED:
            kept[verdict.candidate.kind] += 1
            is_replaced = any(later.earlier == number for later in verdicts)
            if kept[verdict.candidate.kind] > per_kind and not is_replaced:
                excess.add(number)
    return [
        replace(verdict, outcome=Outcome.REJECTED, reason="too many new memories") if number in excess else verdict
        for number, verdict in enumerate(verdicts)
    ]


def _find_triggers(context: Context, tier: str, verdicts: Sequence[Verdict]) -> Mapping[int, Sequence[str]]:
    """Return trigger words of the new memories by the position of their verdict.

    They come from the text; for long-term memories also from the model, after a reading or if the setting is on.
    """
    new = {
        number: verdict.candidate.text
        for number, verdict in enumerate(verdicts)
        if verdict.outcome in (Outcome.PASSED, Outcome.REPLACES)
    }
    words = {number: longest_words(text) for number, text in new.items()}
    if context.reading is not None:
        suggested = [(number, verdicts[number].candidate.triggers) for number in new]
    elif new and tier == Memory.Tier.LONG_TERM and context.settings.model_triggers:
        suggested = _suggested(context, new)
    else:
        suggested = []
    return words | {number: tuple(dict.fromkeys([*words[number], *added]))[:MAX_WORDS] for number, added in suggested}


def _suggested(context: Context, new: Mapping[int, str]) -> list[tuple[int, tuple[str, ...]]]:
    """Return the words that the model suggests, by number; none if it fails, since they are not essential."""
    material = {"memories": [{"number": number, "text": text} for number, text in new.items()]}
    reply = context.ask.unless_refused("triggers", material, max_tokens=TOKENS_PER_MEMORY * len(new))
    found = parse_triggers(reply, list(new))
    context.notes.unused += found.unused
    return [(number, added) for number, added in found.words.items() if number in new]
