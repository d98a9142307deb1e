"""Reads of what is derived beside memories, as pages and documents show it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import Q

from apps.chats.models import Chat, Message
from apps.chats.scenes import scenes_of
from apps.memories.models import Arc, Digest, Entity, Knowledge, LedgerEntry, Memory, Relationship, Scene

# Digests


def current_digest(chat: Chat, kind: str, character: Any = None) -> Digest | None:
    """The current version of a text; the canon is the character's, the rest the chat's."""
    rows = digests_of(chat, kind).filter(state=Digest.State.CURRENT)
    if character is not None:
        rows = rows.filter(character=character)
    return rows.first()


def digests_of(chat: Chat, kind: str) -> Any:
    """All versions of a kind of text, newest first."""
    rows = Digest.objects.for_owner(chat.owner_id).filter(kind=kind)
    mine = Q(chat=chat)
    if kind == Digest.Kind.CANON and chat.character_id:
        mine |= Q(chat=None, character=chat.character_id)
    return rows.filter(mine).select_related("source", "character").order_by("-pk")


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
    return rows.select_related("source", "until", "chat").order_by("state", "-pk")


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


def ledger_in(chat: Chat) -> list[EntityState]:
    """Everybody and everything that the ledger has values of, each field with its history."""
    rows = LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat).exclude(state=LedgerEntry.State.RETIRED)
    ordered = rows.select_related("entity", "source", "until").order_by("entity__kind", "entity__name", "field", "-pk")
    return [
        EntityState(entity, [_history(name, entries) for name, entries in groupby(of_one, key=lambda row: row.field)])
        for entity, of_one in groupby(ordered, key=lambda row: row.entity)
    ]


def _history(name: str, rows: Iterable[LedgerEntry]) -> FieldHistory:
    history = FieldHistory(name)
    for row in rows:
        if row.state == LedgerEntry.State.CURRENT:
            history.current = row
        else:
            history.before.append(row)
    return history


# Who knows what


@dataclass
class KnowledgeMatrix:
    """``rows``: for each way of knowing its name, and what each of ``subjects`` knows, suspects ..., in their order."""

    subjects: list[Entity]
    rows: list[tuple[str, list[list[Knowledge]]]]


def knowledge_in(chat: Chat) -> Any:
    rows = Knowledge.objects.for_owner(chat.owner_id).filter(chat=chat, state=Knowledge.State.ACTIVE)
    return rows.select_related("subject", "target", "source").order_by("subject__name", "kind", "pk")


def knowledge_matrix(chat: Chat) -> KnowledgeMatrix:
    """A column for each person, a row for each way of knowing."""
    rows = list(knowledge_in(chat))
    subjects = list({row.subject_id: row.subject for row in rows}.values())
    cells = [
        (label, [[row for row in rows if row.kind == kind and row.subject_id == one.pk] for one in subjects])
        for kind, label in Knowledge.Kind.choices
    ]
    return KnowledgeMatrix(subjects, [(label, row) for label, row in cells if any(row)])


# Relationships


@dataclass
class Pair:
    """How ``subject`` stands to ``target``: the words that hold, and those that did."""

    subject: Entity
    target: Entity
    words: list[Relationship]
    before: list[Relationship]


def relationships_in(chat: Chat) -> list[Pair]:
    """Every directed pair of people of whom something was said."""
    mine = Q(chat=chat)
    if chat.character_id:
        mine |= Q(subject__character=chat.character_id)
    rows = Relationship.objects.for_owner(chat.owner_id).filter(mine).exclude(state=Relationship.State.RETIRED)
    ordered = list(rows.select_related("subject", "target", "source", "until").order_by("pk"))
    pairs: dict[tuple[Any, Any], Pair] = {}
    for row in ordered:
        pair = pairs.setdefault((row.subject_id, row.target_id), Pair(row.subject, row.target, [], []))
        (pair.words if row.state == Relationship.State.CURRENT else pair.before).append(row)
    return list(pairs.values())
