"""The only writes to memories: those of people, and those of a finished stage of a run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import F, FloatField, Value
from django.db.models.functions import Least

from apps.chats.models import Character, Chat, Message
from apps.common import clock
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.memories.dedup import Outcome, Verdict
from apps.memories.lexemes import Lexemes
from apps.memories.line_format import Candidate, NamedEntity, candidate_hash
from apps.memories.models import Entity, Memory, MemorySource

CONFIRMATION = 0.05  # what a repetition adds to the confidence
LONG_TERM_CAP, SESSION_CAP = 25, 30
LONG_TERM_KINDS = 4


@dataclass(frozen=True)
class Stage:
    """What a stage of a run has worked out and wants written.

    ``turns`` are the messages that the candidates' sources number; ``vectors`` holds a row for each verdict, or is
    None where embeddings are unavailable.
    """

    chat: Chat
    tier: str
    turns: Mapping[int, Message]
    verdicts: Sequence[Verdict]
    vectors: np.ndarray[Any, Any] | None = None
    model: str = ""
    run_id: UUID | None = None


@dataclass
class _Written:
    counts: Counter[str] = field(default_factory=Counter)
    touched: set[UUID] = field(default_factory=set)
    made: dict[int, UUID] = field(default_factory=dict)  # by the number of the verdict


@transaction.atomic
def write_stage(stage: Stage) -> dict[str, int]:
    """Write the verdicts of a stage, all or none, and return how many there were of each outcome.

    New memories are linked to their sources and to what they replace; repetitions confirm; what was not confirmed
    is counted so; beyond the caps the least useful are retired.
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
                _supersede(stage.chat.owner_id, target, memory)
        elif verdict.outcome == Outcome.RECONFIRMED and verdict.target:
            _confirm(stage, verdict.target, verdict.candidate)
            written.touched.add(verdict.target)
    _scope_of(stage.chat, stage.tier).exclude(pk__in=written.touched).update(unconfirmed=F("unconfirmed") + 1)
    _retire_beyond_caps(stage.chat, stage.tier)
    return dict(written.counts)


def _remember(stage: Stage, number: int, verdict: Verdict) -> Memory:
    candidate, sources = verdict.candidate, [stage.turns[n] for n in verdict.candidate.sources]
    memory = Memory.objects.create(
        owner_id=stage.chat.owner_id,
        chat=stage.chat,
        character_id=stage.chat.character_id,
        tier=stage.tier,
        kind=candidate.kind,
        text=candidate.text,
        importance=candidate.importance,
        expiration=candidate.expiration,
        valid_from=max(sources, key=lambda message: message.index, default=None),
        embedding=None if stage.vectors is None else stage.vectors[number],
        embedding_model=stage.model if stage.vectors is not None else "",
        lexemes=Lexemes(candidate.text),
        run_id=stage.run_id,
        candidate_hash=candidate_hash(candidate, [message.pk for message in sources]),
    )
    _link_sources(memory.owner_id, memory.pk, sources)
    memory.entities.set(_entities(stage.chat, candidate.entities))
    return memory


def _supersede(owner_id: UUID, target: UUID, successor: Memory) -> None:
    Memory.objects.for_owner(owner_id).filter(pk=target, superseded_by=None).update(
        state=Memory.State.SUPERSEDED,
        retired_reason="",
        superseded_by=successor,
        valid_to=successor.valid_from,
        updated_at=clock.now(),
    )


def _link_sources(owner_id: UUID, memory_id: UUID, messages: Iterable[Message]) -> None:
    MemorySource.objects.bulk_create(
        (
            MemorySource(owner_id=owner_id, memory_id=memory_id, message=message, swipe=message.active_swipe)
            for message in messages
        ),
        ignore_conflicts=True,
    )


def _confirm(stage: Stage, target: UUID, candidate: Candidate) -> None:
    """The memory is surer, and stems from what said it again too."""
    _link_sources(stage.chat.owner_id, target, [stage.turns[number] for number in candidate.sources])
    Memory.objects.for_owner(stage.chat.owner_id).filter(pk=target).update(
        confidence=Least(F("confidence") + CONFIRMATION, Value(1.0), output_field=FloatField()),
        unconfirmed=0,
        updated_at=clock.now(),
    )


def _entities(chat: Chat, named: Iterable[NamedEntity]) -> list[Entity]:
    """The registry's entities of these names, made where they are new; a kind that is learnt later is kept."""
    found = []
    for item in named:
        entity, _ = Entity.objects.for_owner(chat.owner_id).get_or_create(
            owner_id=chat.owner_id,
            character_id=chat.character_id,
            chat=None if chat.character_id else chat,
            name__iexact=item.name,
            defaults={"name": item.name, "kind": item.kind},
        )
        if entity.kind == Entity.Kind.UNKNOWN != item.kind:
            entity.kind = item.kind
            entity.save(update_fields=["kind"])
        found.append(entity)
    return found


def _scope_of(chat: Chat, tier: str) -> Any:
    """The active entries of a tier: the character's of long-term memories, else the chat's."""
    mine = Memory.objects.for_owner(chat.owner_id).active().filter(tier=tier)
    if tier == Memory.Tier.LONG_TERM and chat.character_id:
        return mine.filter(character_id=chat.character_id)
    return mine.filter(chat=chat)


def _retire_beyond_caps(chat: Chat, tier: str) -> None:
    """Long-term memories are capped in all and by kind, session memories in all."""
    active = sorted(_scope_of(chat, tier), key=_utility, reverse=True)
    cap = LONG_TERM_CAP if tier == Memory.Tier.LONG_TERM else SESSION_CAP
    kind_cap = ceil(cap / LONG_TERM_KINDS) if tier == Memory.Tier.LONG_TERM else cap
    kept: Counter[str] = Counter()
    excess = []
    for memory in active:
        if kept[memory.kind] < kind_cap and kept.total() < cap:
            kept[memory.kind] += 1
        elif not memory.pinned and not memory.edited_by:
            excess.append(memory.pk)
    Memory.objects.for_owner(chat.owner_id).filter(pk__in=excess).update(
        state=Memory.State.RETIRED, retired_reason="capacity", updated_at=clock.now()
    )


def _utility(memory: Memory) -> tuple[bool, float, Any]:
    """What is kept first: a person's own, then by importance and confidence, then the newer."""
    return (memory.pinned or bool(memory.edited_by), memory.importance + memory.confidence, memory.pk)


# What people do


@transaction.atomic
def create_memory(
    owner: Any,
    *,
    text: str,
    tier: str,
    kind: str,
    editor: str,
    chat: Chat | None = None,
    character: Character | None = None,
    importance: int = 2,
    sources: Sequence[Message] = (),
) -> Memory:
    """A memory that a person writes down."""
    memory = Memory(
        owner_id=owner.pk,
        chat=chat,
        character=character or (chat.character if chat else None),
        tier=tier,
        kind=kind,
        importance=importance,
        confidence=1.0,
        edited_by=editor,
        valid_from=max(sources, key=lambda message: message.index, default=None),
    )
    _set_text(memory, text)
    memory.save()
    _link_sources(memory.owner_id, memory.pk, sources)
    return memory


def edit_memory(memory: Memory, *, editor: str, **changes: Any) -> Memory:
    """A person's correction: text, kind, importance, pinned, hidden. It overwrites and counts the version, and leaves
    alone what a run may have made of the memory meanwhile."""
    changed = [*changes, "edited_by", "version", "updated_at"]
    if "text" in changes:
        _set_text(memory, changes.pop("text"))
        changed += ["lexemes", "embedding", "embedding_model"]
    for name, value in changes.items():
        setattr(memory, name, value)
    memory.edited_by = editor
    memory.version += 1
    memory.save(update_fields=changed)
    return memory


def _set_text(memory: Memory, text: str) -> None:
    memory.text = text
    memory.lexemes = Lexemes(text)
    try:
        embedder = get_embedder()
        memory.embedding, memory.embedding_model = embedder.embed([text])[0], embedder.model
    except EmbeddingUnavailable:
        memory.embedding, memory.embedding_model = None, ""


def delete_memory(memory: Memory) -> None:
    """Leave a tombstone, which keeps the same from being learnt again."""
    memory.deleted_at = memory.deleted_at or clock.now()
    memory.save(update_fields=["deleted_at", "updated_at"])


def restore_memory(memory: Memory) -> None:
    """Take a deletion back."""
    memory.deleted_at = None
    memory.save(update_fields=["deleted_at", "updated_at"])
