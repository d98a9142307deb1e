"""Turn a reply's lines about memories into candidates, and find the memories with which each is compared."""

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID

import numpy as np

from apps.chats.models import Character, Message
from apps.extraction.jobs.embedding_jobs import embed_texts
from apps.extraction.memories.lines import candidates_from
from apps.extraction.steps.context import Context
from apps.llm.backends.selection import embedder_for, vectors_if_available
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.candidates import Candidate
from apps.memories.models import Memory
from apps.memories.operations.verdict_writing import hash_of
from apps.memories.verdicts.known_statements import ComparedCandidates, Neighbour, Thresholds
from apps.memories.verdicts.neighbours import (
    ComparisonScope,
    find_neighbours,
    memory_ids_from,
    neighbours_by_words,
    unembedded_memories,
)

MAX_REEMBEDDED_PER_STEP = 2000  # memories re-embedded per step after a change of the model; a job does the rest


@dataclass(frozen=True)
class Proposals:
    """Candidates of one tier from ``turns``, and what each is compared with.

    ``character`` is the group member who remembers; None outside groups. ``model`` computed the vectors.
    ``previous_ids`` are memories that were made from the same messages, ``unused`` lines that could not be used.
    """

    tier: str
    turns: Mapping[int, Message]
    character: Character | None
    compared: ComparedCandidates
    model: str
    previous_ids: Set[UUID]
    unused: Sequence[str]


def propose(
    context: Context, turns: Mapping[int, Message], tier: str, reply: str, witnessed: Set[int] | None = None
) -> Proposals:
    """Return the candidates of a reply about ``turns``, and what each is compared with.

    With ``witnessed``, the numbers of turns that the context's character witnessed, leave out what others learnt.
    """
    parsed = candidates_from(context, turns, tier, reply, witnessed)
    character = context.character if context.chat.is_group and tier == Memory.Tier.LONG_TERM else None
    # A looping model repeats lines. Keep the first of each.
    lines: dict[str, Candidate] = {}
    for candidate in parsed.items:
        lines.setdefault(hash_of(candidate, turns, character), candidate)
    lines = dict(sorted(lines.items(), key=lambda line: max(line[1].sources)))
    vectors, model = vectors_if_available(context.owner_id, [one.text for one in lines.values()])
    previous_ids = memory_ids_from(context.chat, turns.values()) if lines else []
    scope = ComparisonScope(context.chat, tier, character)
    prefix = "" if vectors is not None else "word_"  # of the settings for similarity by words
    compared = ComparedCandidates(
        candidates=list(lines.values()),
        neighbours=_neighbours(scope, lines, previous_ids, vectors, model) if lines else [],
        vectors=vectors,
        given_thresholds=Thresholds(*(getattr(context.settings, prefix + one.name) for one in fields(Thresholds))),
        times={number: turn.sent_at for number, turn in turns.items()},
        persons_turns={number for number, turn in turns.items() if turn.is_user},
    )
    return Proposals(tier, turns, character, compared, model, set(previous_ids), parsed.unused)


def _neighbours(
    scope: ComparisonScope,
    lines: Mapping[str, Candidate],
    previous_ids: Sequence[UUID],
    vectors: np.ndarray[Any, Any] | None,
    model: str,
) -> list[list[Neighbour]]:
    """Return what each candidate is compared with, by similarity; ``lines`` are the candidates by hash."""
    hashes, owner_id = list(lines), scope.chat.owner_id
    if vectors is None:
        return neighbours_by_words(scope, hashes, previous_ids, [one.text for one in lines.values()])
    # A memory whose vector is by a former model is not found, and would be learnt again.
    with suppress(EmbeddingUnavailable):
        if rows := unembedded_memories(scope, hashes, previous_ids, model, MAX_REEMBEDDED_PER_STEP):
            embed_texts(Memory, owner_id, rows, embedder_for(owner_id))
    return find_neighbours(scope, hashes, previous_ids, vectors, model)
