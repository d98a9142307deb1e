"""What becomes of proposed memories: they are compared with known ones, judged, and written."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from uuid import UUID

from apps.chats.models import Message
from apps.extraction.jobs.embedding_jobs import embed_texts
from apps.extraction.memories import pair_questions
from apps.extraction.memories.lines import candidates_from
from apps.extraction.memories.relationships import find_relationship_changes
from apps.extraction.memories.triggers import find_triggers
from apps.extraction.parsers.records import ParsedLines
from apps.extraction.steps.context import Context, StageOutcome, Write
from apps.llm.backends.selection import embedder_for, vectors_if_available
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import Refused
from apps.memories.candidates import Candidate
from apps.memories.models import Memory
from apps.memories.operations.verdicts import Limits, VerdictBatch, hash_of, write_verdicts
from apps.memories.verdicts.former_texts import open_to_change, with_former_texts
from apps.memories.verdicts.judging import Outcome, Verdict, judge
from apps.memories.verdicts.known_statements import CandidateBatch, Neighbour, Pair
from apps.memories.verdicts.neighbours import (
    ComparisonScope,
    find_neighbours,
    memory_ids_from,
    neighbours_by_words,
    unembedded_memories,
)
from apps.memories.verdicts.uncertain_pairs import Relation, uncertain_pairs
from apps.memories.witnesses import participants_of

MAX_REEMBEDDED_PER_STEP = 2000  # memories re-embedded per step after a change of the model; a job does the rest


@dataclass(frozen=True)
class Proposals:
    """Candidates of one tier, and the memories that each is compared with.

    ``batch`` has no verdicts yet. ``previous_ids`` are memories that were made from the same messages.
    """

    batch: VerdictBatch
    compared: CandidateBatch
    previous_ids: Set[UUID]
    unused: Sequence[str]

    @property
    def uncertain_pairs(self) -> list[Pair]:
        """Return the pairs of statements that a model should be asked about."""
        return uncertain_pairs(self.compared)


def remember(context: Context, turns: Mapping[int, Message], tier: str, reply: str) -> StageOutcome:
    """Return the outcome of a reply that is about the memories of one tier alone."""
    proposals = compare_with_known(context, turns, tier, candidates_from(context, turns, tier, reply))
    return outcome_of_proposals(context, proposals, pair_questions.ask_about(context, proposals.uncertain_pairs))


def compare_with_known(
    context: Context, turns: Mapping[int, Message], tier: str, parsed: ParsedLines[Candidate]
) -> Proposals:
    """Return the candidates of a reply about ``turns``, with the memories that they are compared with."""
    settings = context.settings
    batch = VerdictBatch(
        chat=context.chat,
        tier=tier,
        turns=turns,
        verdicts=(),
        run_id=context.run.pk,
        character=context.character if context.chat.is_group and tier == Memory.Tier.LONG_TERM else None,
        limits=Limits(**{field.name: getattr(settings, field.name) for field in fields(Limits)}),
        participants=participants_of(context.chat) if settings.witnesses_only else (),
    )
    # A looping model repeats lines. Keep the first of each.
    lines: dict[str, Candidate] = {}
    for candidate in parsed.items:
        lines.setdefault(hash_of(batch, candidate), candidate)
    lines = dict(sorted(lines.items(), key=lambda line: max(line[1].sources)))
    texts = [one.text for one in lines.values()]
    vectors, model = vectors_if_available(context.owner_id, texts)
    batch = replace(batch, vectors=vectors, model=model)
    previous_ids = memory_ids_from(context.chat, turns.values()) if lines else []
    return Proposals(
        batch=batch,
        compared=CandidateBatch(
            candidates=list(lines.values()),
            neighbours=_neighbours(context, batch, lines, previous_ids) if lines else [],
            vectors=vectors,
            given_thresholds=pair_questions.thresholds_of(settings, by_words=vectors is None),
            times={number: turn.sent_at for number, turn in turns.items()},
        ),
        previous_ids=set(previous_ids),
        unused=parsed.unused,
    )


def _neighbours(
    context: Context, batch: VerdictBatch, lines: Mapping[str, Candidate], previous_ids: Sequence[UUID]
) -> list[list[Neighbour]]:
    """Return what each candidate is compared with, by similarity; ``lines`` are the candidates by hash."""
    scope = ComparisonScope(context.chat, batch.tier, batch.character)
    hashes, texts = list(lines), [one.text for one in lines.values()]
    if batch.vectors is None:
        found = neighbours_by_words(scope, hashes, previous_ids, texts)
    else:
        # A memory whose vector is by a former model is not found, and would be learnt again.
        with suppress(EmbeddingUnavailable):
            if rows := unembedded_memories(scope, hashes, previous_ids, batch.model, MAX_REEMBEDDED_PER_STEP):
                embed_texts(Memory, context.owner_id, rows, embedder_for(context.owner_id))
        found = find_neighbours(scope, hashes, previous_ids, batch.vectors, batch.model)
    found = with_former_texts(texts, found, batch.vectors, lambda one: vectors_if_available(context.owner_id, one)[0])
    # What a person wrote or corrected is replaced only by what a person says: a reply of a model may not know of it.
    return [
        open_to_change(of_one) if all(batch.turns[number].is_user for number in one.sources) else of_one
        for one, of_one in zip(lines.values(), found, strict=True)
    ]


def outcome_of_proposals(
    context: Context, proposals: Proposals, answers: Mapping[Pair, Relation] | None
) -> StageOutcome:
    """Return the outcome of a tier's proposals; ``answers`` are a model's, None if none is connected."""
    verdicts = judge(proposals.compared, answers=answers, compare=pair_questions.comparison_for(context))
    if context.has_model:
        verdicts = _reject_excess(verdicts, context.settings.new_per_kind, proposals.previous_ids)
    batch = replace(proposals.batch, verdicts=verdicts)
    batch = replace(batch, triggers=find_triggers(context, batch))
    writes: list[Write] = [partial(write_verdicts, batch)]
    error = ""
    if batch.tier == Memory.Tier.LONG_TERM:
        try:
            if relationships := find_relationship_changes(context, batch):
                writes.append(relationships.write)
        except Refused as failure:
            error = failure.detail  # the memories are stored without, and the turns can be read again
    return StageOutcome(writes, proposals.unused, error)


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
