"""What becomes of proposed memories: they are checked, compared with known ones, and written."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from uuid import UUID

from apps.chats.dates import day_of
from apps.chats.models import Character, Message
from apps.english.clauses import split_speaker
from apps.english.requests import requests_in
from apps.english.retelling import takes_back
from apps.english.words import content_words
from apps.extraction.jobs.embedding_jobs import embed_texts
from apps.extraction.parsers.records import ParsedLines
from apps.extraction.settings.schema import Settings
from apps.extraction.steps.context import Context, StageOutcome
from apps.extraction.steps.dictation import Dictation
from apps.extraction.steps.people import canonical_names, known_people
from apps.extraction.steps.turns import find_source_turn
from apps.extraction.tiers import judging
from apps.extraction.tiers.memories import EXPIRATION, KINDS, parse_memories
from apps.extraction.tiers.relationships import find_relationship_changes
from apps.extraction.tiers.triggers import find_triggers
from apps.llm.backends import embedder_for, vectors_if_available
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import Refused
from apps.memories.candidates import Candidate, NamedEntity
from apps.memories.models import Entity, Memory
from apps.memories.operations.verdicts import Limits, VerdictBatch, hash_of, write_verdicts
from apps.memories.quotations import quoted_speaker
from apps.memories.relative_dates import dated
from apps.memories.verdicts.corrections import open_to_change, with_former_texts
from apps.memories.verdicts.judging import Outcome, Verdict, judge
from apps.memories.verdicts.neighbours import (
    Scope,
    find_neighbours,
    memory_ids_from,
    neighbours_by_words,
    unembedded_memories,
)
from apps.memories.verdicts.questions import Relation, uncertain_pairs
from apps.memories.verdicts.statements import Neighbour, Pair, Thresholds
from apps.memories.witnesses import participants_of
from apps.search.questions import mentions

MAX_REEMBEDDED_PER_STEP = 2000  # memories re-embedded per step after a change of the model; a job does the rest
MIN_SHARE_OF_REQUEST = 0.6  # minimum share of a memory's words that what somebody asked to remember has
MAX_PEOPLE = 200  # newest people looked for in the texts of candidates


@dataclass(frozen=True)
class Proposals:
    """Candidates of one tier, and the memories that each is compared with.

    ``batch`` has no verdicts yet. ``times`` are those of the turns, by number; ``previous_ids`` are memories that were
    made from the same messages.
    """

    batch: VerdictBatch
    candidates: Sequence[Candidate]
    neighbours: Sequence[Sequence[Neighbour]]
    thresholds: Thresholds
    times: Mapping[int, dt.datetime | None]
    previous_ids: Set[UUID]
    unused: Sequence[str]

    @property
    def uncertain_pairs(self) -> list[Pair]:
        """Return the pairs of statements that a model should be asked about."""
        return uncertain_pairs(self.candidates, self.neighbours, self.batch.vectors, self.thresholds, self.times)


def remember(context: Context, turns: Mapping[int, Message], tier: str, reply: str) -> StageOutcome:
    """Return the outcome of a reply that is about the memories of one tier alone."""
    proposals = propose(context, turns, tier, reply)
    return outcome_of(context, proposals, judging.ask_about(context, proposals.uncertain_pairs))


def outcome_of(context: Context, proposals: Proposals, answers: Mapping[Pair, Relation] | None) -> StageOutcome:
    """Return the outcome of a tier's proposals; ``answers`` are a model's, None if none is connected."""
    verdicts = judge(
        proposals.candidates,
        proposals.neighbours,
        proposals.batch.vectors,
        proposals.thresholds,
        answers,
        judging.comparison_for(context),
        proposals.times,
    )
    if context.has_model:
        verdicts = _reject_excess(verdicts, context.settings.new_per_kind, proposals.previous_ids)
    batch = replace(proposals.batch, verdicts=verdicts)
    batch = replace(batch, triggers=find_triggers(context, batch))
    relationships, error = None, ""
    if batch.tier == Memory.Tier.LONG_TERM:
        try:
            relationships = find_relationship_changes(context, batch)
        except Refused as failure:
            error = failure.detail  # the memories are stored without, and the turns can be read again

    def write() -> Counter[str]:
        counts = write_verdicts(batch)
        if relationships:
            counts["relationships"] = relationships.write()
        return counts

    return StageOutcome(write, proposals.unused, error)


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


def limits_from(settings: Settings) -> Limits:
    """Return the limits that ``write_verdicts`` applies, from the settings of the same names."""
    return Limits(**{field.name: getattr(settings, field.name) for field in fields(Limits)})


def _is_wanted(text: str, wanted: Iterable[str], names: Iterable[str]) -> bool:
    """Return whether a memory says what the person asks to remember, and puts it into nobody's mouth."""
    words = content_words(text) - content_words(" ".join(names))
    shared = max((len(words & content_words(said)) for said in wanted), default=0)
    return bool(words) and not quoted_speaker(text) and shared >= MIN_SHARE_OF_REQUEST * len(words)


def propose(
    context: Context, turns: Mapping[int, Message], tier: str, reply: str, witnessed: Set[int] | None = None
) -> Proposals:
    """Return the usable candidates of a reply about ``turns``, with the memories that they are compared with.

    With ``witnessed``, the numbers of turns that the context's character witnessed, leave out what others learnt.
    """
    parsed = _usable(context, parse_memories(reply, KINDS[tier], expiration=EXPIRATION[tier]), turns)
    dates = context.settings.dates
    candidates = [_dated(one, turns, context.zone) for one in parsed.items] if dates else parsed.items
    participants = participants_of(context.chat)
    if witnessed is not None and context.character:
        names = {member.name.casefold() for member in participants} | {context.character.name.casefold()}
        candidates = [one for one in candidates if _is_learnt(one, context.character, names, witnessed)]
    candidates = _with_entities(context, candidates)
    batch = VerdictBatch(
        chat=context.chat,
        tier=tier,
        turns=turns,
        verdicts=(),
        run_id=context.run.pk,
        character=context.character if context.chat.is_group and tier == Memory.Tier.LONG_TERM else None,
        limits=limits_from(context.settings),
        participants=participants if context.settings.witnesses_only else (),
    )
    # A looping model repeats lines. Keep the first of each.
    lines: dict[str, Candidate] = {}
    for candidate in candidates:
        lines.setdefault(hash_of(batch, candidate), candidate)
    ordered = sorted(lines.values(), key=lambda candidate: max(candidate.sources))
    texts = [candidate.text for candidate in ordered]
    hashes = [hash_of(batch, candidate) for candidate in ordered]
    vectors, model = vectors_if_available(context.owner_id, texts)
    batch = replace(batch, vectors=vectors, model=model)
    previous_ids = memory_ids_from(context.chat, turns.values())
    scope = Scope(context.chat, tier, batch.character)
    if vectors is None:
        neighbours = neighbours_by_words(scope, hashes, previous_ids, texts)
    else:
        with suppress(EmbeddingUnavailable):
            rows = unembedded_memories(scope, hashes, previous_ids, model, MAX_REEMBEDDED_PER_STEP)
            embed_texts(Memory, context.owner_id, rows, embedder_for(context.owner_id))
        neighbours = find_neighbours(scope, hashes, previous_ids, vectors, model)
    neighbours = with_former_texts(
        texts, neighbours, vectors, lambda former: vectors_if_available(context.owner_id, former)[0]
    )
    neighbours = [
        open_to_change(found) if all(turns[number].is_user for number in one.sources) else found
        for one, found in zip(ordered, neighbours, strict=True)
    ]
    thresholds = judging.thresholds_of(context.settings, by_words=vectors is None)
    times = {number: turn.sent_at for number, turn in turns.items()}
    return Proposals(batch, ordered, neighbours, thresholds, times, set(previous_ids), parsed.unused)


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
