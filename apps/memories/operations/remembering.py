"""Writes what a stage of a run has worked out about session and long-term memories."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Case, F, FloatField, Q, Value, When
from django.db.models.functions import Greatest, Least

from apps.chats.models import Character, Chat, Message, Participant
from apps.common import clock
from apps.memories.candidates import Candidate, NamedEntity, candidate_hash
from apps.memories.lexemes import Lexemes
from apps.memories.lineage import relatives
from apps.memories.models import Entity, Inheritance, Memory, MemorySource
from apps.memories.verdicts import Outcome, Verdict
from apps.memories.witnesses import witnessed_by_all_of

LONG_TERM_KINDS = 4


@dataclass(frozen=True)
class Limits:
    """How sure a new memory is, how confidence changes, and how many memories of a tier stay active."""

    confidence: float = 0.7
    confirmation: float = 0.05
    decay: float = 0.02
    decay_after: int = 10
    decay_floor: float = 0.3
    long_term_cap: int = 25
    session_cap: int = 30


@dataclass(frozen=True)
class Stage:
    """What a stage of a run has worked out and wants written.

    ``turns`` are the messages that the candidates' sources number; ``vectors`` holds a row for each verdict, or is
    None where embeddings are unavailable. ``character`` is who remembers; ``triggers`` go by the verdict's number.
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


@dataclass
class _Written:
    counts: Counter[str] = field(default_factory=Counter)
    touched: set[UUID] = field(default_factory=set)
    made: dict[int, UUID] = field(default_factory=dict)  # by the number of the verdict


def write_stage(stage: Stage) -> Counter[str]:
    """Write the verdicts of a stage and return how many there were of each outcome. To be called in a transaction.

    New memories are linked to their sources and to what they replace; repetitions confirm; what was not confirmed
    loses confidence in the end; beyond the caps the least useful are retired.
    """
    written = _Written()
    for number, verdict in enumerate(stage.verdicts):
        written.counts[verdict.outcome] += 1
        if verdict.outcome in (Outcome.PASSED, Outcome.SUPERSEDED):
            memory = _remember(stage, number, verdict)
            written.touched.add(memory.pk)
            written.made[number] = memory.pk
            target = verdict.target if verdict.earlier is None else written.made[verdict.earlier]
            if target:
                supersede(stage.chat, target, memory, keep_pinned=True)
        elif verdict.outcome == Outcome.RECONFIRMED and verdict.target:
            _confirm(stage, verdict.target, verdict.candidate, again=verdict.target in written.touched)
            written.touched.add(verdict.target)
    _decay(stage, written.touched)
    _retire_beyond_caps(stage)
    return written.counts


def _remember(stage: Stage, number: int, verdict: Verdict) -> Memory:
    candidate, sources = verdict.candidate, [stage.turns[n] for n in verdict.candidate.sources]
    _free_hash(stage, hash_of(stage, candidate))
    memory = Memory.objects.create(
        owner_id=stage.chat.owner_id,
        chat=stage.chat,
        character_id=stage.character_id,
        tier=stage.tier,
        kind=candidate.kind,
        text=candidate.text,
        importance=candidate.importance,
        expiration=candidate.expiration,
        confidence=stage.limits.confidence,
        triggers=list(stage.triggers.get(number, ())),
        witnessed_by=witnessed_by_all_of(sources, stage.participants),
        valid_from=max(sources, key=lambda message: message.index, default=None),
        embedding=None if stage.vectors is None else stage.vectors[number],
        embedding_model=stage.model if stage.vectors is not None else "",
        lexemes=Lexemes(candidate.text),
        run_id=stage.run_id,
        candidate_hash=hash_of(stage, candidate),
    )
    link_sources(memory.owner_id, memory.pk, sources)
    memory.entities.set(entities_named(stage.chat, candidate.entities, stage.character))
    return memory


def _free_hash(stage: Stage, line: str) -> None:
    """What the run made of the same line before, and has taken back since, stands in the way of nothing."""
    mine = Memory.objects.for_owner(stage.chat.owner_id).filter(run_id=stage.run_id, tier=stage.tier)
    mine.filter(candidate_hash=line, deleted_at=None).exclude(state=Memory.State.ACTIVE).update(candidate_hash="")


def hash_of(stage: Stage, candidate: Candidate) -> str:
    """What makes a line about the same messages the same; a group's members each have their own."""
    ids = [stage.turns[number].pk for number in candidate.sources]
    return candidate_hash(candidate, [*ids, stage.character.pk] if stage.character else ids)


def supersede(chat: Chat, target: UUID, successor: Memory, reason: str = "", *, keep_pinned: bool = False) -> None:
    """``successor`` takes the place of ``target``; in a branch, of what it inherited, which the parent keeps.

    What a person pinned no run replaces (``keep_pinned``); what one corrected makes way for what is told later.
    """
    fields = {
        "state": Memory.State.SUPERSEDED,
        "retired_reason": reason,
        "superseded_by": successor,
        "valid_to": successor.valid_from,
    }
    inherited = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, memory=target)
    if not inherited.update(**fields):
        own = Memory.objects.for_owner(chat.owner_id).filter(pk=target, superseded_by=None)
        own = own.filter(pinned=False) if keep_pinned else own
        own.update(**fields, updated_at=clock.now())


def take_back(chat: Chat, memories: Iterable[Memory], reason: str) -> None:
    """Retire the memories; what each had replaced holds again, or is replaced by what had replaced it."""
    for memory in sorted(memories, key=lambda memory: memory.pk):
        memory.state, memory.retired_reason = Memory.State.RETIRED, reason
        memory.save(update_fields=["state", "retired_reason", "updated_at"])
        successor = memory.superseded_by
        fields: dict[str, Any] = {"state": Memory.State.ACTIVE, "superseded_by": None, "valid_to": None}
        if successor is not None and successor.state != Memory.State.RETIRED:
            fields = {"superseded_by": successor, "valid_to": successor.valid_from}
        fields["retired_reason"] = ""
        replaced = {"superseded_by": memory, "state": Memory.State.SUPERSEDED}
        Memory.objects.for_owner(chat.owner_id).filter(**replaced).update(**fields, updated_at=clock.now())
        Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, **replaced).update(**fields)


def link_sources(owner_id: UUID, memory_id: UUID, messages: Iterable[Message]) -> None:
    MemorySource.objects.bulk_create(
        (
            MemorySource(owner_id=owner_id, memory_id=memory_id, message=message, swipe=message.active_swipe)
            for message in messages
        ),
        update_conflicts=True,
        unique_fields=["memory", "swipe"],
        update_fields=["lost"],
    )


def _confirm(stage: Stage, target: UUID, candidate: Candidate, *, again: bool) -> None:
    """The memory stems from what said it again too, and is surer; once a pass, however often it says so."""
    link_sources(stage.chat.owner_id, target, [stage.turns[number] for number in candidate.sources])
    if again:
        return
    Memory.objects.for_owner(stage.chat.owner_id).filter(pk=target).update(
        confidence=Least(F("confidence") + stage.limits.confirmation, Value(1.0), output_field=FloatField()),
        unconfirmed=0,
        updated_at=clock.now(),
    )


def entities_named(chat: Chat, named: Iterable[NamedEntity], character: Character | None = None) -> list[Entity]:
    """The registry's entities of these names, made where they are new; a kind that is learnt later is kept."""
    return list(dict.fromkeys(entity_named(chat, item.name, item.kind, character) for item in named))


def entity_named(chat: Chat, name: str, kind: str = "unknown", character: Character | None = None) -> Entity:
    """The entity of this name or alias, in the registry of the character, else of the chat."""
    character_id = character.pk if character else chat.character_id
    scope = {"character_id": character_id, "chat": None if character_id else chat}
    registry = Entity.objects.for_owner(chat.owner_id).filter(**scope)
    entity = registry.filter(Q(name__iexact=name) | Q(aliases__contains=[name])).order_by("pk").first()
    if entity is None:
        entity, _ = registry.get_or_create(
            owner_id=chat.owner_id, **scope, name__iexact=name, defaults={"name": name, "kind": kind}
        )
    if entity.kind == Entity.Kind.UNKNOWN != kind:
        entity.kind = kind
        entity.save(update_fields=["kind"])
    return entity


def scope_of(chat: Chat, tier: str, character_id: UUID | None) -> Any:
    """The active entries of a tier that a chat keeps: the character's of long-term memories, else the chat's.

    What the character learnt in other branches of the same story is not among them.
    """
    mine = Memory.objects.for_owner(chat.owner_id).active().filter(tier=tier)
    if tier == Memory.Tier.LONG_TERM and character_id:
        return mine.filter(character_id=character_id).exclude(chat__in=relatives(chat))
    return mine.filter(chat=chat)


def _decay(stage: Stage, touched: set[UUID]) -> None:
    """Count a pass that did not confirm; after enough of them the confidence falls, and at its floor one is retired."""
    rest = scope_of(stage.chat, stage.tier, stage.character_id).exclude(pk__in=touched)
    rest.update(unconfirmed=F("unconfirmed") + 1)
    limits, own = stage.limits, Q(pinned=True) | ~Q(edited_by="")
    tired = rest.filter(unconfirmed__gt=limits.decay_after).exclude(own)
    tired.filter(confidence__lte=limits.decay_floor + 1e-9).update(
        state=Memory.State.RETIRED, retired_reason="decayed", updated_at=clock.now()
    )
    lower = Greatest(F("confidence") - limits.decay, Value(limits.decay_floor), output_field=FloatField())
    tired.update(confidence=Case(When(confidence__gt=limits.decay_floor, then=lower), default=F("confidence")))


def _retire_beyond_caps(stage: Stage) -> None:
    """Long-term memories are capped in all and by kind, session memories in all."""
    long_term = stage.tier == Memory.Tier.LONG_TERM
    cap = stage.limits.long_term_cap if long_term else stage.limits.session_cap
    kind_cap = ceil(cap / LONG_TERM_KINDS) if long_term else cap
    kept: Counter[str] = Counter()
    excess = []
    for memory in sorted(scope_of(stage.chat, stage.tier, stage.character_id), key=_utility, reverse=True):
        if kept[memory.kind] < kind_cap and kept.total() < cap:
            kept[memory.kind] += 1
        elif not memory.pinned and not memory.edited_by:
            excess.append(memory.pk)
    Memory.objects.for_owner(stage.chat.owner_id).filter(pk__in=excess).update(
        state=Memory.State.RETIRED, retired_reason="capacity", updated_at=clock.now()
    )


def _utility(memory: Memory) -> tuple[bool, float, Any]:
    """What is kept first: a person's own, then by importance and confidence, then the newer."""
    return (memory.pinned or bool(memory.edited_by), memory.importance + memory.confidence, memory.pk)
