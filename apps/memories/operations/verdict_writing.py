"""Write the verdicts of a stage on candidates for session and long-term memories."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Case, F, FloatField, Q, Value, When
from django.db.models.functions import Greatest, Least
from django.utils import timezone

from apps.chats.models import Character, Chat, Message, Participant
from apps.memories.candidates import Candidate
from apps.memories.models import Inheritance, Memory
from apps.memories.operations.entities import get_or_create_entities
from apps.memories.operations.memories import add_instances, instances_of, latest_message, link_sources
from apps.memories.operations.questions import ask_which_is_true
from apps.memories.operations.superseding import supersede
from apps.memories.queries.memories import active_memories
from apps.memories.verdicts.judging import Outcome, Verdict
from apps.memories.visibility import is_inherited_by
from apps.memories.witnesses import NOBODY, witnessed_by_all_of
from apps.text.lexemes import Lexemes


@dataclass(frozen=True)
class Limits:
    """Settings of confidence.

    ``confidence`` is that of a new memory, ``confirmation`` its gain when repeated. After ``decay_after`` passes
    without repetition it falls by ``decay`` a pass, down to ``decay_floor``.
    """

    confidence: float = 0.7
    confirmation: float = 0.05
    decay: float = 0.02
    decay_after: int = 10
    decay_floor: float = 0.3


@dataclass(frozen=True)
class VerdictBatch:
    """The verdicts of one stage of a run, with what is needed to write them.

    ``turns`` are messages by the numbers that candidates cite. ``vectors`` has a row for each verdict, or is None
    where embeddings are unavailable; ``model`` is the embedding model. ``character`` is the group member who
    remembers; None outside groups. ``triggers`` are keywords by the number of the verdict.
    """

    chat: Chat
    tier: str
    turns: Mapping[int, Message]
    verdicts: Sequence[Verdict]
    vectors: np.ndarray[Any, Any] | None = None
    model: str = ""
    run_id: UUID | None = None
    character: Character | None = None
    limits: Limits = Limits()
    participants: Sequence[Participant] = ()
    triggers: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @property
    def character_id(self) -> UUID | None:
        return self.character.pk if self.character else self.chat.character_id


def hash_of(candidate: Candidate, turns: Mapping[int, Message], character: Character | None) -> str:
    """Return a hash of a line and its source messages, so that a run writes it once.

    The members of a group each have their own.
    """
    ids = [turns[number].pk for number in candidate.sources] + ([character.pk] if character else [])
    parts = [candidate.kind, " ".join(candidate.text.split()), *sorted(map(str, ids))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def write_verdicts(batch: VerdictBatch) -> Counter[str]:
    """Write a batch and return the number of verdicts by outcome. Must be called in a transaction.

    New memories are linked to their sources and supersede what they update; repetitions confirm. Then confidence
    decays.
    """
    counts: Counter[str] = Counter()
    touched: set[UUID] = set()
    created: dict[int, UUID] = {}  # ids of new memories by the number of the verdict
    repeated = [one.target for one in batch.verdicts if one.outcome == Outcome.RECONFIRMED]
    rows = Memory.objects.for_owner(batch.chat.owner_id).as_in(batch.chat).filter(pk__in=repeated, deleted_at=None)
    retired = set(rows.filter(state_here=Memory.State.RETIRED).values_list("pk", flat=True))
    for number, verdict in enumerate(batch.verdicts):
        counts[verdict.outcome] += 1
        if verdict.outcome in (Outcome.PASSED, Outcome.REPLACES):
            memory = _create(batch, number, verdict.candidate)
            touched.add(memory.pk)
            created[number] = memory.pk
            target = verdict.target if verdict.earlier is None else created[verdict.earlier]
            if target:
                supersede(batch.chat, target, memory, keep_pinned=True)
            if verdict.contradicts:
                ask_which_is_true(batch.chat, verdict.contradicts, memory)
            if verdict.replaced_by:
                supersede(batch.chat, memory.pk, Memory.objects.for_owner(memory.owner_id).get(pk=verdict.replaced_by))
        elif verdict.outcome == Outcome.RECONFIRMED and verdict.target in retired:
            touched.add(_create(batch, number, verdict.candidate).pk)  # what it repeats was taken back in the meantime
        elif verdict.outcome == Outcome.RECONFIRMED and verdict.target:
            _confirm(batch, verdict.target, verdict.candidate, already_touched=verdict.target in touched)
            touched.add(verdict.target)
    _decay(batch, touched)
    return counts


def _create(batch: VerdictBatch, number: int, candidate: Candidate) -> Memory:
    sources = [batch.turns[n] for n in candidate.sources]
    instances = instances_of(sources)
    hash_ = hash_of(candidate, batch.turns, batch.character)
    # The text may have been swiped away and back: the marks of the memory from it apply again.
    former = Memory.objects.for_owner(batch.chat.owner_id).filter(
        chat=batch.chat, character=batch.character_id, tier=batch.tier, candidate_hash=hash_, state=Memory.State.RETIRED
    )
    marks = former.order_by("-pk").values("pinned", "hidden", "withheld").first() or {}
    # The run may have created a memory from this line that is retired by now: clear its hash, which must be unique.
    of_run = Memory.objects.for_owner(batch.chat.owner_id).filter(run_id=batch.run_id, tier=batch.tier)
    of_run.filter(candidate_hash=hash_, deleted_at=None).exclude(state=Memory.State.ACTIVE).update(candidate_hash="")
    memory: Memory = Memory.objects.create(
        owner_id=batch.chat.owner_id,
        namespace=batch.chat.namespace,
        story=batch.chat.story,
        chat=batch.chat,
        character_id=batch.character_id,
        tier=batch.tier,
        kind=candidate.kind,
        text=candidate.text,
        importance=candidate.importance,
        expiration=candidate.expiration,
        confidence=batch.limits.confidence,
        triggers=list(batch.triggers.get(number, ())),
        witnessed_by=witnessed_by_all_of(sources, batch.participants),
        valid_from=latest_message(sources),
        source_instance=instances[-1] if instances else "",
        participating_instances=sorted(set(instances)),
        embedding=None if batch.vectors is None else batch.vectors[number],
        embedding_model=batch.model if batch.vectors is not None else "",
        lexemes=Lexemes(candidate.text),
        run_id=batch.run_id,
        candidate_hash=hash_,
        **marks,
    )
    link_sources(memory.owner_id, memory.pk, sources)
    memory.entities.add(*get_or_create_entities(batch.chat, candidate.entities, batch.character))
    return memory


def _confirm(batch: VerdictBatch, target: UUID, candidate: Candidate, *, already_touched: bool) -> None:
    """Link a memory to the messages that repeat it, and raise its confidence.

    Only link it if ``already_touched`` by the batch: confidence rises once per batch. What a branch inherited is
    confirmed in its inheritance, since other branches of the story don't know the messages.
    """
    sources = [batch.turns[number] for number in candidate.sources]
    gain = 0.0 if already_touched else batch.limits.confirmation
    confidence = Least(F("confidence") + gain, Value(1.0), output_field=FloatField())
    inherited = Inheritance.objects.for_owner(batch.chat.owner_id).filter(chat=batch.chat, memory=target)
    inheritance = inherited.select_for_update().first()
    if inheritance is not None:
        message_ids = dict.fromkeys([*inheritance.message_ids, *(message.pk for message in sources)])
        inherited.update(message_ids=list(message_ids), confidence=confidence)
        return
    link_sources(batch.chat.owner_id, target, sources)
    _widen_witnesses(batch, target, sources)
    add_instances(batch.chat.owner_id, target, instances_of(sources))
    if not already_touched:
        Memory.objects.for_owner(batch.chat.owner_id).filter(pk=target).update(
            confidence=confidence, unconfirmed=0, updated_at=timezone.now()
        )


def _widen_witnesses(batch: VerdictBatch, target: UUID, sources: Sequence[Message]) -> None:
    """Add those who witnessed that a memory was told again to those who know it."""
    memory = Memory.objects.for_owner(batch.chat.owner_id).select_for_update().get(pk=target)
    told = witnessed_by_all_of(sources, batch.participants)
    if memory.witnessed_by and told != memory.witnessed_by:
        both = {*memory.witnessed_by, *told} - {NOBODY} if told else set()
        memory.witnessed_by = (sorted(both) or [NOBODY]) if told else []
        memory.save(update_fields=["witnessed_by", "updated_at"])


def _decay(batch: VerdictBatch, touched: set[UUID]) -> None:
    """Count the pass for memories that it did not touch, and lower the confidence of long unconfirmed ones.

    Confidence orders memories. It never retires one: a model is asked not to repeat what is known. A branch doesn't
    lower that of what it inherited.
    """
    limits = batch.limits
    active = active_memories(batch.chat, batch.tier, batch.character_id).exclude(is_inherited_by(batch.chat))
    untouched = active.exclude(pk__in=touched)
    lowered = Greatest(F("confidence") - limits.decay, Value(limits.decay_floor), output_field=FloatField())
    is_long_unconfirmed = Q(unconfirmed__gte=limits.decay_after, pinned=False, edited_by="")  # before this pass
    decays = When(is_long_unconfirmed & Q(confidence__gt=limits.decay_floor), then=lowered)
    untouched.update(unconfirmed=F("unconfirmed") + 1, confidence=Case(decays, default=F("confidence")))
