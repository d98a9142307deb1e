"""Find the candidates for the slots of a turn, which are what its prompt may tell, and fill the slots with them.

``retrieve`` searches, by ``search_related``, and makes a new recall; ``retell`` takes what a stored recall has.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.chats.models import Character, Message
from apps.chats.queries.keys import ChatKeys, keys_of
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.concurrent_reads import read_concurrently
from apps.memories.models import Memory
from apps.prompts.filling.fill import Candidates, FilledSlots, fill, fill_for_recall
from apps.prompts.filling.plan import SlotPlan
from apps.prompts.models import Recall
from apps.prompts.retrieval.found import found_entries
from apps.prompts.retrieval.layers import layer_entries
from apps.prompts.slots.definitions import EPISTEMIC, LONG_TERM, RECALLED, SESSION, TRIGGERED
from apps.prompts.slots.entries import MESSAGES_TIER, Entry
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint
from apps.search.ranking import RankedHit
from apps.search.service import NO_VECTORS, QueryVectors, SearchQuery, SearchResult, find, load

VISIBLE_MESSAGES = 20  # visible messages this close to the turn are taken to stand in a history that is not known
SEARCH_LIMIT = 100  # of memories, and of messages
MAX_MEMORIES, MAX_MESSAGES = 6, 4  # of the results
MIN_COSINE = 0.2  # cosines of all-MiniLM-L6-v2 below this are noise
MIN_SHARE_OF_BEST = 0.6  # minimum share of the best cosine
MIN_SHARED_WORDS = 0.3  # minimum share of the turn's words, used without vectors
PROTECTION = 5.0  # added to the priority of protected entries; less than the weight of a pinned memory
PROTECTED_KINDS = {LONG_TERM.name: ("relationship", "preference", "fact"), SESSION.name: ("development", "scene")}


@dataclass(frozen=True)
class Related:
    """What a search for a turn's text found, and the vectors of the text. ``method`` is empty if it has no words.

    ``near`` are the ids of all memories that the search came upon, the results among them.
    """

    method: str = ""
    results: list[SearchResult] = field(default_factory=list)
    vectors: QueryVectors = NO_VECTORS
    near: Collection[UUID] = ()

    @property
    def lacks_vectors(self) -> bool:
        """Return whether no model was available to search with."""
        return self.method == "text"


@dataclass(frozen=True)
class Retrieved:
    """The slots of a turn, filled with what was found for it, and the recall that this makes, which isn't stored.

    Without vectors, only words were searched.
    """

    filled: FilledSlots
    recall: Recall
    has_vectors: bool


def retrieve(turn: UserTurn, character: Character | None, plan: SlotPlan) -> Retrieved:
    """Find what was known just before a turn, and fill the slots with it within the budgets of ``plan``.

    Raise EmbeddingUnavailable, OperationalError.
    """
    related, layers = read_concurrently(
        partial(search_related, turn, character, plan.surely_shown()),
        partial(layer_entries, turn, character, plan.slots),
    )
    found = found_entries(turn, character, related.results, related.vectors, related.near)
    told = tellable(turn, character, {**layers, **found})
    of_turn = told.pop(TRIGGERED.name)
    protected = {name: _protect(items, PROTECTED_KINDS.get(name, ())) for name, items in told.items()}
    filled, recall = fill_for_recall(turn, plan, Candidates(protected, of_turn))
    return Retrieved(filled, recall, has_vectors=not related.lacks_vectors)


def search_related(
    turn: UserTurn, character: Character | None, shown: Collection[UUID] | None = None, *, is_asked: bool = False
) -> Related:
    """Return the results related to the turn's text: memories active just before it, then earlier messages.

    ``shown`` are the messages that stand in the prompt anyway, by default those just before the turn. ``is_asked``: the
    text is a query, for which a few words in common are enough.
    """
    if not turn.text.strip():
        return Related()
    view = Viewpoint(turn.chat, character)
    query = SearchQuery(
        query=turn.text,
        chat=turn.chat.pk,
        character=character.pk if character else None,
        tiers=(LONG_TERM.name, SESSION.name, MESSAGES_TIER),
        before=turn.index,
        witness=view.ids,
    )
    found = find(turn.owner_id, query)
    near = [hit.id for hit in found.hits if hit.is_memory]
    if found.small_talk:
        return Related(found.method, vectors=found.vectors, near=near)
    shown = _in_history(turn) if shown is None else shown
    hits = _best(found.hits, SEARCH_LIMIT, SEARCH_LIMIT)
    hits = [hit for hit in hits if hit.id not in shown]
    hits = list(filter(_has_part_of, hits)) if is_asked else _above_thresholds(found.method, hits)
    active = _active_ids_before(turn, [hit.id for hit in hits if hit.is_memory])
    hits = [hit for hit in hits if hit.id in active or not hit.is_memory]
    if turn.chat.is_group:
        loaded = _witnessed(view, load(turn.owner_id, hits, turn.text, with_history=False))  # the rows tell by whom
    else:
        loaded = load(turn.owner_id, _best(hits, MAX_MEMORIES, MAX_MESSAGES), turn.text, with_history=False)
    memories = [result for result in loaded if result.memory][:MAX_MEMORIES]
    messages = [result for result in loaded if result.message][:MAX_MESSAGES]
    return Related(found.method, memories + messages, found.vectors, near)


def _witnessed(view: Viewpoint, results: Sequence[SearchResult]) -> list[SearchResult]:
    """Return the results that a member of a group may be told."""
    known = view.known_of([result.id for result in results if result.memory])
    return [result for result in results if (view.has_heard(result.message) if result.message else result.id in known)]


def _active_ids_before(turn: UserTurn, memory_ids: Collection[UUID]) -> set[UUID]:
    """Return the ids of those memories that were active just before the turn."""
    return set(KNOWN_IDS.rows(keys_of(turn.chat), turn.index - 1, list(memory_ids)))


def _known_ids(chat: ChatKeys, index: Any, ids: Any) -> QuerySet[Memory, Any]:
    rows = Memory.objects.for_owner(chat.owner_id).present().filter(id__any=ids)
    known: QuerySet[Memory, Any] = rows.known_at(chat, index).values_list("pk", flat=True)
    return known


KNOWN_IDS: CompiledQuery[Any] = CompiledQuery(_known_ids)


def _in_history(turn: UserTurn) -> set[UUID]:
    """Return the ids of the messages just before the turn that stand in the prompt anyway."""
    earlier = Message.objects.for_owner(turn.owner_id).filter(chat=turn.chat, index__lt=turn.index)
    return set(earlier.told().order_by("-index").values_list("pk", flat=True)[:VISIBLE_MESSAGES])


def _best(hits: Sequence[RankedHit], memories: int, messages: int) -> list[RankedHit]:
    """Return the best memories and the best messages: where all talk is of one thing, messages score above memories."""
    best = [hit for hit in hits if hit.is_memory][:memories]
    return best + [hit for hit in hits if not hit.is_memory][:messages]


def _has_part_of(hit: RankedHit) -> bool:
    """Return whether a hit has a part of the query's meaning or words."""
    return hit.signals.get("vector", 0.0) >= MIN_COSINE or hit.signals.get("lexical", 0.0) >= MIN_SHARED_WORDS


def _above_thresholds(method: str, hits: list[RankedHit]) -> list[RankedHit]:
    """Return the hits above absolute thresholds; the scores of the search are relative to the best result."""
    signal = "lexical" if method == "text" else "vector"
    values = [hit.signals.get(signal, 0.0) for hit in hits]
    best = max(values, default=0.0)
    threshold = MIN_SHARED_WORDS if method == "text" else max(MIN_COSINE, MIN_SHARE_OF_BEST * best)
    return [hit for hit, value in zip(hits, values, strict=True) if value >= threshold]


def _protect(entries: Sequence[Entry], kinds: Sequence[str]) -> list[Entry]:
    """Raise the priority of the best entry of each of ``kinds``, and of the newest one: the current moment."""
    if not kinds:
        return list(entries)
    of_kind = [max((e for e in entries if e.kind == kind), key=lambda e: e.priority, default=None) for kind in kinds]
    protected = {entry.id for entry in [*of_kind, *entries[-1:]] if entry}
    return [replace(e, priority=e.priority + PROTECTION) if e.id in protected else e for e in entries]


def retell(
    turn: UserTurn,
    character: Character | None,
    plan: SlotPlan,
    recalled: Mapping[str, Sequence[Entry]],
    text: str | None = None,
) -> FilledSlots:
    """Fill the slots with what a recall stored, by slot name, or with a ``text`` that stands for all of it.

    What needs no search is read for each prompt.
    """
    layers = layer_entries(turn, character, plan.slots)
    if text is not None:
        stored = {slot.name for slot in RECALLED}
        layers = {name: entries for name, entries in layers.items() if name not in stored}
    return fill(plan, Candidates(tellable(turn, character, {**layers, **recalled}), text=text))


def tellable(
    turn: UserTurn, character: Character | None, entries: Mapping[str, Sequence[Entry]]
) -> dict[str, list[Entry]]:
    """Return the entries, by slot name, without the sentences that would tell the character a secret.

    All entries of a prompt pass here before they fill a slot.
    """
    secrets = Viewpoint(turn.chat, character).secrets(turn.knowledge)

    def without_secrets(items: Sequence[Entry]) -> list[Entry]:
        lines = [(entry, secrets.without(entry.line)) for entry in items]
        return [entry if line == entry.line else replace(entry, line=line) for entry, line in lines if line]

    # What characters suspect or believe is in their own mind, also where they don't know that it is so.
    return {name: list(items) if name == EPISTEMIC.name else without_secrets(items) for name, items in entries.items()}
