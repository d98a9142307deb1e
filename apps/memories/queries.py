"""Reads of what is derived beside memories, as pages and documents show it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import Q

from apps.chats.models import Character, Chat, Message
from apps.chats.scenes import scenes_of
from apps.memories.lineage import relatives
from apps.memories.models import (
    Arc,
    ChatMemory,
    Entity,
    Knowledge,
    LedgerEntry,
    Memory,
    Relationship,
    Scene,
    VersionedText,
)

# The mode of a chat


def chat_memory_of(chat: Chat) -> ChatMemory:
    """How the chat remembers; an unsaved row where it was never changed."""
    found = ChatMemory.objects.for_owner(chat.owner_id).filter(chat=chat).first()
    return found or ChatMemory(owner_id=chat.owner_id, chat=chat)


# Digests


def current_digest(chat: Chat, kind: str, character: Any = None) -> VersionedText | None:
    """The current version of a text; the canon is the character's, the rest the chat's."""
    rows = digests_of(chat, kind).filter(state=VersionedText.State.CURRENT)
    if character is not None:
        rows = rows.filter(character=character)
    return rows.first()


def digests_of(chat: Chat, kind: str) -> Any:
    """All versions of a kind of text, newest first."""
    rows = VersionedText.objects.for_owner(chat.owner_id).filter(kind=kind)
    mine = Q(chat=chat)
    if kind == VersionedText.Kind.CANON and chat.character_id:
        mine |= Q(chat=None, character=chat.character_id)
    return rows.filter(mine).select_related("source", "character").order_by("-pk")


def digests_of_character(character: Character) -> Any:
    """All versions of the character's canon, and of their profile in each chat, newest first."""
    kinds = (VersionedText.Kind.CANON, VersionedText.Kind.PROFILE)
    rows = VersionedText.objects.for_owner(character.owner_id).filter(character=character, kind__in=kinds)
    return rows.select_related("source__chat", "character", "chat").order_by("-pk")


# Scenes


@dataclass(frozen=True)
class SceneView:
    """The messages from index ``start`` to that of ``last``. ``found`` is None where a person set the break."""

    start: int
    last: Message
    name: str
    recap: str
    collapsed: bool
    found: Scene | None

    @property
    def end(self) -> int:
        return self.last.index


def scenes_in(chat: Chat) -> list[SceneView]:
    """The scenes that have ended, those that people set and those that were found, in order."""
    rows = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, state=Scene.State.FOUND, source__isnull=False)
    ends: dict[int, SceneView] = {
        row.source.index: SceneView(0, row.source, row.name, row.recap, row.collapsed, row)
        for row in rows.select_related("source")
        if row.source
    }
    for scene in scenes_of(chat):
        ends[scene.last.index] = SceneView(0, scene.last, scene.name or "", scene.recap or "", scene.is_collapsed, None)
    starts = [0, *(index + 1 for index in sorted(ends))]
    return [
        SceneView(start, view.last, view.name, view.recap, view.collapsed, view.found)
        for start, (_, view) in zip(starts, sorted(ends.items()), strict=False)
    ]


def memories_between(chat: Chat, start: int, end: int) -> Any:
    """What was learnt in the messages from index ``start`` to ``end``."""
    rows = Memory.objects.for_owner(chat.owner_id).present().filter(chat=chat)
    return rows.filter(valid_from__index__gte=start, valid_from__index__lte=end).order_by("pk")


# Arcs


def arcs_in(chat: Chat) -> Any:
    """The chat's arcs and the persistent ones of its character, open ones first."""
    mine = Q(chat=chat)
    if chat.character_id:
        mine |= Q(character=chat.character_id, persistent=True)
    rows = Arc.objects.for_owner(chat.owner_id).filter(mine).exclude(state=Arc.State.RETIRED)
    return rows.select_related("source__chat", "until__chat", "chat").order_by("state", "-pk")


def arcs_of(character: Character) -> Any:
    """The character's arcs that go on from chat to chat, open ones first."""
    rows = Arc.objects.for_owner(character.owner_id).filter(character=character, persistent=True)
    rows = rows.exclude(state=Arc.State.RETIRED)
    return rows.select_related("source__chat", "until__chat", "chat").order_by("state", "-pk")


# What held at a message


def _held_at(rows: Any, chat: Chat, at: int) -> Any:
    """Of rows with a beginning and an end, those that held when the message at index ``at`` had been said."""
    begun = Q(source=None) | ~Q(source__chat=chat) | Q(source__index__lte=at)
    return rows.filter(begun).exclude(until__chat=chat, until__index__lte=at)


# The state ledger


@dataclass
class FieldHistory:
    """A field's current row, or None where it is cleared, and those before it, newest first."""

    name: str
    current: LedgerEntry | None = None
    before: list[LedgerEntry] = field(default_factory=list)


@dataclass
class EntityState:
    entity: Entity
    fields: list[FieldHistory]


def ledger_in(chat: Chat, at: int | None = None) -> list[EntityState]:
    """Everybody and everything that the ledger has values of, each field with its history.

    With ``at``, as it stood when the message at that index had been said.
    """
    rows = LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat).exclude(state=LedgerEntry.State.RETIRED)
    if at is not None:
        rows = rows.filter(Q(source=None) | Q(source__index__lte=at))
    ordered = rows.select_related("entity", "source", "until").order_by("entity__kind", "entity__name", "field", "-pk")
    return [
        EntityState(entity, [_history(name, rows, at) for name, rows in groupby(of_one, key=lambda row: row.field)])
        for entity, of_one in groupby(ordered, key=lambda row: row.entity)
    ]


def _history(name: str, rows: Iterable[LedgerEntry], at: int | None) -> FieldHistory:
    history = FieldHistory(name)
    for row in rows:
        if history.current is None and _holds(row, at):
            history.current = row
        else:
            history.before.append(row)
    return history


def _holds(row: LedgerEntry, at: int | None) -> bool:
    if at is None or row.until is None:
        return row.state == LedgerEntry.State.CURRENT
    return row.until.index > at


# Who knows what


@dataclass
class KnowledgeMatrix:
    """``rows``: for each person what they know, suspect ..., in the order of ``kinds``, the ways that occur."""

    kinds: list[str]
    rows: list[tuple[Entity, list[tuple[str, list[Knowledge]]]]]


def knowledge_in(chat: Chat, at: int | None = None) -> Any:
    """What is known now, or with ``at`` what was when the message at that index had been said."""
    rows = Knowledge.objects.for_owner(chat.owner_id).filter(chat=chat)
    standing = Q(state=Knowledge.State.ACTIVE)
    if at is not None:
        rows, standing = _held_at(rows, chat, at), standing | Q(retired_reason="outdated")
    return _ordered_knowledge(rows.filter(standing))


def knowledge_of(character: Character) -> Any:
    """What those in the character's registry know, over all chats."""
    rows = Knowledge.objects.for_owner(character.owner_id).filter(subject__character=character)
    return _ordered_knowledge(rows.filter(state=Knowledge.State.ACTIVE))


def _ordered_knowledge(rows: Any) -> Any:
    return rows.select_related("subject", "target", "source__chat").order_by("subject__name", "kind", "pk")


def knowledge_matrix(found: Iterable[Knowledge]) -> KnowledgeMatrix:
    """A row for each person, a column for each way of knowing."""
    entries = list(found)
    kinds = [(kind, label) for kind, label in Knowledge.Kind.choices if any(one.kind == kind for one in entries)]
    rows = [
        (subject, [(label, [one for one in of_one if one.kind == kind]) for kind, label in kinds])
        for subject, of_one in (
            (subject, list(group)) for subject, group in groupby(entries, key=lambda one: one.subject)
        )
    ]
    return KnowledgeMatrix([label for _, label in kinds], rows)


# Relationships


@dataclass
class Pair:
    """How ``subject`` stands to ``target``: the words that hold, and those that did."""

    subject: Entity
    target: Entity
    words: list[Relationship]
    before: list[Relationship]


def relationships_in(chat: Chat, at: int | None = None) -> list[Pair]:
    """Every directed pair of people of whom something was said; with ``at``, as it stood at the message there."""
    mine = Q(chat=chat)
    if chat.character_id:
        mine |= Q(subject__character=chat.character_id)
    rows = Relationship.objects.for_owner(chat.owner_id).filter(mine).exclude(state=Relationship.State.RETIRED)
    rows = rows.exclude(chat__in=relatives(chat))
    if at is None:
        return _pairs(rows)
    held = _held_at(rows, chat, at).filter(Q(state=Relationship.State.CURRENT) | Q(until__chat=chat))
    return _pairs(rows.filter(Q(pk__in=held.values("pk")) | Q(until__chat=chat, until__index__lte=at)), held)


def relationships_of(character: Character) -> list[Pair]:
    """How people of the character's registry stand to each other, over all chats; of the same word in two branches,
    the newer one."""
    rows = Relationship.objects.for_owner(character.owner_id).filter(subject__character=character)
    pairs = _pairs(rows.exclude(state=Relationship.State.RETIRED))
    for pair in pairs:
        pair.words = list({word.descriptor: word for word in pair.words}.values())
    return pairs


def _pairs(rows: Any, held: Any = None) -> list[Pair]:
    """``held`` are those of the rows whose words hold; without it, the current ones."""
    holding = (rows.filter(state=Relationship.State.CURRENT) if held is None else held).values_list("pk", flat=True)
    standing = set(holding)
    pairs: dict[tuple[Any, Any], Pair] = {}
    for row in rows.select_related("subject", "target", "source__chat", "until__chat").order_by("pk"):
        pair = pairs.setdefault((row.subject_id, row.target_id), Pair(row.subject, row.target, [], []))
        (pair.words if row.pk in standing else pair.before).append(row)
    return list(pairs.values())
