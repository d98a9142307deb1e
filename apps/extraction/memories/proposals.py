"""Turn a reply's lines about memories into candidates, and find the memories with which each is compared."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import UUID

import numpy as np

from apps.chats.dates import day_of
from apps.chats.models import Character, Message
from apps.english.clauses import split_speaker
from apps.english.requests import requests_in
from apps.english.retelling import takes_back
from apps.english.words import content_words
from apps.extraction.jobs.embedding_jobs import embed_texts
from apps.extraction.memories.lines import EXPIRATION, KINDS, parse_memories
from apps.extraction.parsers.records import ParsedLines
from apps.extraction.steps.context import Context
from apps.extraction.steps.dictation import Dictation
from apps.extraction.steps.people import canonical_names, known_people
from apps.extraction.steps.turns import find_source_turn
from apps.llm.backends.selection import embedder_for, vectors_if_available
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.candidates import Candidate, NamedEntity
from apps.memories.models import Entity, Memory
from apps.memories.operations.verdict_writing import hash_of
from apps.memories.quotations import quoted_speaker
from apps.memories.relative_dates import dated
from apps.memories.verdicts.judging import ComparedCandidates
from apps.memories.verdicts.known_statements import Neighbour, Thresholds
from apps.memories.verdicts.neighbours import (
    ComparisonScope,
    find_neighbours,
    memory_ids_from,
    neighbours_by_words,
    unembedded_memories,
)
from apps.memories.witnesses import participants_of
from apps.search.questions import mentions

MIN_SHARE_OF_REQUEST = 0.6  # minimum share of a memory's words that what somebody asked to remember has
MAX_PEOPLE = 200  # newest people looked for in the texts of candidates
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


def candidates_from(
    context: Context, turns: Mapping[int, Message], tier: str, reply: str, witnessed: Set[int] | None = None
) -> ParsedLines[Candidate]:
    """Return the usable candidates of a reply about ``turns``, with the people whom they name.

    With ``witnessed``, the numbers of turns that the context's character witnessed, leave out what others learnt.
    """
    parsed = _usable(context, parse_memories(reply, KINDS[tier], expiration=EXPIRATION[tier]), turns)
    candidates = [_dated(one, turns, context.zone) for one in parsed.items] if context.settings.dates else parsed.items
    if witnessed is not None and context.character:
        participants = [member.name for member in participants_of(context.chat)]
        names = {name.casefold() for name in [*participants, context.character.name]}
        candidates = [one for one in candidates if _is_learnt(one, context.character, names, witnessed)]
    return ParsedLines(_with_entities(context, candidates), parsed.unused)


def _usable(context: Context, parsed: ParsedLines[Candidate], turns: Mapping[int, Message]) -> ParsedLines[Candidate]:
    """Return the usable candidates; one that cites no source has the turn that shares most words.

    Unusable candidates cite unknown turns, or ask to forget what was said. What only repeats the words of a turn is
    quoted, unless the person asks to remember it; the built-in extractor has done so itself.
    """
    texts = {number: turn.mes for number, turn in turns.items()}
    dictation = Dictation(turns)
    wanted = [said for turn in turns.values() if turn.is_user for said in requests_in(turn.mes)]
    usable: list[Candidate] = []
    unusable: list[str] = []
    for candidate in parsed.items:
        if not set(candidate.sources) <= turns.keys() or takes_back(split_speaker(candidate.text)[1]):
            unusable.append(candidate.text)
            continue
        if (context.has_model or context.small) and not _is_wanted(candidate.text, wanted, context.participants):
            people = [
                one.name for one in candidate.entities if one.kind in (Entity.Kind.CHARACTER, Entity.Kind.UNKNOWN)
            ]
            names = [*context.participants, *people]
            candidate = replace(candidate, text=dictation.as_said(candidate.text, candidate.sources, names))
        source = find_source_turn(candidate.text, texts)
        usable.append(candidate if candidate.sources or source is None else replace(candidate, sources=(source,)))
    return ParsedLines(usable, [*parsed.unused, *unusable])


def _is_wanted(text: str, wanted: Iterable[str], names: Iterable[str]) -> bool:
    """Return whether a memory says what the person asks to remember, and puts it into nobody's mouth."""
    words = content_words(text) - content_words(" ".join(names))
    shared = max((len(words & content_words(said)) for said in wanted), default=0)
    return bool(words) and not quoted_speaker(text) and shared >= MIN_SHARE_OF_REQUEST * len(words)


def _dated(candidate: Candidate, turns: Mapping[int, Message], zone: dt.tzinfo) -> Candidate:
    """Return a candidate whose text has dates after words such as "yesterday", if all its sources are of one day."""
    sent = [at for number in candidate.sources if (at := turns[number].sent_at)]
    is_of_one_day = len(sent) == len(candidate.sources) and len({day_of(at, zone) for at in sent}) == 1
    return replace(candidate, text=dated(candidate.text, sent[0], zone)) if is_of_one_day else candidate


def _is_learnt(candidate: Candidate, character: Character, names: Set[str], witnessed: Set[int]) -> bool:
    """Return whether a character witnessed a candidate's sources and is among those who learnt it.

    ``names`` are those of all participants; a line that names nobody of them says nothing about who learnt it.
    """
    known_to = {name.casefold() for name in candidate.known_to} & names
    return set(candidate.sources) <= witnessed and (not known_to or character.name.casefold() in known_to)


def _with_entities(context: Context, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates whose model named no entities with the participants and the known people that they mention."""
    if all(one.entities for one in candidates):
        return list(candidates)
    people = known_people(context, context.character)[:MAX_PEOPLE]
    names = canonical_names(context.participants, people)
    return [
        one
        if one.entities
        else replace(one, entities=tuple(NamedEntity(name, "character") for name in _named_in(one.text, names)))
        for one in candidates
    ]


def _named_in(text: str, names: Mapping[str, str]) -> list[str]:
    folded = text.casefold()
    return list(dict.fromkeys(name for key, name in names.items() if key in folded and mentions(text, name)))
