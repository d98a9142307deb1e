"""The pipeline: what a run does with the new messages of a chat, chunk by chunk and tier after tier.

Nothing is locked while a model is asked. A step is claimed, worked out, and written in one transaction that checks
that the messages it read are still the same.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import structlog
from django.db import transaction

from apps.chats.models import Message
from apps.chats.operations import lock_chat
from apps.common.problems import Missing
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.llm.generation import Completion, GenerationFailed, GenerationRequest, get_backend
from apps.memories import runs
from apps.memories.dedup import judge
from apps.memories.line_format import Candidate, Parsed, candidate_hash, parse_memories
from apps.memories.models import ExtractionRun, Memory
from apps.memories.neighbours import find_neighbours, learnt_from, neighbours_by_words
from apps.memories.operations import Stage, write_stage

CHUNK = 20  # messages read at a time
NEW_PER_KIND = 2  # profile A: what one pass may add of a kind
ATTEMPTS = 3  # at a step whose messages change while it works
KINDS = {
    Memory.Tier.SESSION.value: ("scene", "revelation", "development", "detail"),
    Memory.Tier.LONG_TERM.value: ("fact", "relationship", "preference", "event"),
}
EXPIRATION = {Memory.Tier.SESSION.value: "session", Memory.Tier.LONG_TERM.value: "permanent"}

log = structlog.get_logger(__name__)


class MessagesChanged(Exception):
    """The messages that a step read were written before it could store what it found."""


@dataclass(frozen=True)
class Step:
    """One tier over the messages from index ``start`` up to, not including, ``end``."""

    position: int
    tier: str
    start: int
    end: int


def execute(run_id: UUID) -> None:
    """Go through a run from its first unfinished step to its end; a run that is somebody else's is left alone."""
    run = runs.claim_run(run_id)
    if run is None:
        return
    try:
        _walk(run)
    except runs.ClaimLost:
        log.info("run_given_up", run=str(run.pk))
    except (GenerationFailed, MessagesChanged, Missing) as error:
        runs.end_run(run, ExtractionRun.State.FAILED, str(error))
    except Exception:
        runs.end_run(run, ExtractionRun.State.FAILED, "Something went wrong on our side.")
        raise
    else:
        runs.end_run(run, ExtractionRun.State.SUCCEEDED)


def _walk(run: ExtractionRun) -> None:
    steps = list(plan(run))
    finished = set(run.steps.values_list("position", flat=True))
    for step in steps:
        if step.position not in finished:
            runs.beat(run, stage=step.tier, total=len(steps))
            _retry(lambda step=step: _take(run, step))  # type: ignore[misc]


def plan(run: ExtractionRun) -> Iterator[Step]:
    """The run's steps in order: every tier over a chunk, then the next chunk."""
    if run.first is None or run.last is None:
        return
    position = 0
    for start in range(run.first.index, run.last.index + 1, CHUNK):
        for tier in run.tiers:
            yield Step(position, tier, start, min(start + CHUNK, run.last.index + 1))
            position += 1


def _retry(attempt: Callable[[], None]) -> None:
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except MessagesChanged:
            continue
    return attempt()


def _take(run: ExtractionRun, step: Step) -> None:
    messages = _messages(run, step)
    turns = {message.index: message for message in messages if not message.is_system and message.mes.strip()}
    completion = _ask(run, step, turns) if turns else Completion("NONE")
    parsed = _offered_only(parse_memories(completion.text, KINDS[step.tier], expiration=EXPIRATION[step.tier]), turns)
    stage = _judged(run, step, turns, parsed.candidates)
    with transaction.atomic():
        _check_unchanged(run, messages)
        result = runs.StepResult(
            position=step.position,
            stage=step.tier,
            messages=messages,
            reply=completion.text,
            unused_lines=parsed.unused,
            counts=write_stage(stage),
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
        )
        runs.finish_step(run, result)


def _messages(run: ExtractionRun, step: Step) -> list[Message]:
    in_chunk = Message.objects.for_owner(run.owner_id).filter(
        chat_id=run.chat_id, index__gte=step.start, index__lt=step.end
    )
    return list(in_chunk.with_swipes().order_by("index"))


def _ask(run: ExtractionRun, step: Step, turns: dict[int, Message]) -> Completion:
    participants = {message.name for message in turns.values()} | {run.chat.user_name}
    return get_backend().generate(
        GenerationRequest(
            task=step.tier,
            messages=[],
            material={
                "turns": [
                    {"number": number, "speaker": turn.name, "is_user": turn.is_user, "text": turn.mes}
                    for number, turn in turns.items()
                ],
                "participants": sorted(filter(None, participants)),
                "per_kind": NEW_PER_KIND,
            },
        )
    )


def _offered_only(parsed: Parsed, turns: dict[int, Message]) -> Parsed:
    """Without candidates that cite none of the turns that were offered, which are named as unused."""
    good: list[Candidate] = []
    bad: list[str] = []
    for candidate in parsed.candidates:
        cited = set(candidate.sources) <= set(turns) and candidate.sources
        good.append(candidate) if cited else bad.append(candidate.text)
    return Parsed(good, [*parsed.unused, *bad])


def _judged(run: ExtractionRun, step: Step, turns: dict[int, Message], candidates: Sequence[Candidate]) -> Stage:
    texts = [candidate.text for candidate in candidates]
    hashes = [candidate_hash(item, [turns[number].pk for number in item.sources]) for item in candidates]
    learnt = learnt_from(run.chat, turns.values())
    vectors, model = _vectors(texts)
    if vectors is None:
        near = neighbours_by_words(run.chat, step.tier, hashes, learnt, texts)
    else:
        near = find_neighbours(run.chat, step.tier, hashes, learnt, vectors, model)
    return Stage(run.chat, step.tier, turns, judge(candidates, near, vectors), vectors, model, run.pk)


def _vectors(texts: Sequence[str]) -> tuple[np.ndarray | None, str]:
    """The texts' vectors and the model that made them, or None where embeddings are unavailable."""
    try:
        embedder = get_embedder()
        return embedder.embed(texts), embedder.model
    except EmbeddingUnavailable:
        return None, ""


def _check_unchanged(run: ExtractionRun, messages: Sequence[Message]) -> None:
    """With the chat locked, see that the messages stand as they were read. Raises MessagesChanged, Missing."""
    chat = lock_chat(run.owner_id, run.chat_id)
    ids = [message.pk for message in messages]
    stand = dict(Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=ids).values_list("pk", "rev"))
    if not messages or stand != {message.pk: message.rev for message in messages}:
        raise MessagesChanged("The messages changed while they were read.")
