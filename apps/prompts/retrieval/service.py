"""Find the candidates for the slots of a turn, which are what its prompt may tell, and fill the slots with them.

``retrieve`` searches, and makes a new recall; ``retell`` takes what a stored recall has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from apps.chats.models import Character
from apps.common.database.concurrent_reads import read_concurrently
from apps.prompts.filling.fill import Candidates, FilledSlots, SlotPlan, fill
from apps.prompts.models import Recall
from apps.prompts.retrieval.active import ActiveMemory, active_memories
from apps.prompts.retrieval.found import found_entries
from apps.prompts.retrieval.layers import LAYERS
from apps.prompts.retrieval.related import search_related
from apps.prompts.slots.blocks import join_blocks
from apps.prompts.slots.definitions import EPISTEMIC, LONG_TERM, RECALLED, SESSION, TRIGGERED
from apps.prompts.slots.entries import Entry
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint

MAX_LEFT_OUT = 10  # entries stored of those that had no room
PROTECTION = 5.0  # added to the priority of protected entries; less than the weight of a pinned memory
PROTECTED_KINDS = {LONG_TERM.name: ("relationship", "preference", "fact"), SESSION.name: ("development", "scene")}


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
        partial(search_related, turn, character, plan.surely_shown()), partial(layer_entries, turn, character, plan)
    )
    required = [result.id for result in related.results if result.memory]
    tiers = (LONG_TERM.name, SESSION.name)
    memories = active_memories(turn, tiers, character, required, related.vectors, related.near)
    told = tellable(turn, character, {**layers, **found_entries(turn, related.results, memories)})
    filled = fill(plan, _candidates(told, memories))
    return Retrieved(filled, _recall_of(turn, plan, filled), has_vectors=not related.lacks_vectors)


def _recall_of(turn: UserTurn, plan: SlotPlan, filled: FilledSlots) -> Recall:
    """Return the recall of the turn: the filled slots whose entries are looked up for each turn."""
    fitted = filled.fitted
    text = join_blocks(fitted[slot.name].text for slot in RECALLED)
    kept = [(entry, slot.name) for slot in RECALLED for entry in fitted[slot.name].kept]
    # Triggered ones first, then by score.
    kept.sort(key=lambda pair: (not pair[0].triggered, -pair[0].score, str(pair[0].id)))
    ids = {entry.id for entry, _ in kept}  # what another slot has room for is not left out
    left_out = [
        {**entry.document(slot.name), "budget": filled.budgets[slot.name]}
        for slot in RECALLED
        for entry in sorted(fitted[slot.name].left_out, key=lambda entry: -entry.priority)
        if entry.id not in ids
    ]
    return Recall(
        owner_id=turn.owner_id,
        chat=turn.chat,
        message=turn.message,
        text=text,
        memories=[entry.document(name) for entry, name in kept],
        left_out=left_out[:MAX_LEFT_OUT],
        left_out_count=len(left_out),
        tokens=plan.count(text),
        turn_hash=turn.hash,
    )


def _candidates(told: Mapping[str, Sequence[Entry]], memories: Mapping[str, Sequence[ActiveMemory]]) -> Candidates:
    """Return what may stand in the slots, of the entries that may be told.

    Related to the turn are the passages, and those of the memories that the search or a trigger word found, best first.
    Some of the memories may stand in slots of their own, which say them already.
    """
    entries = dict(told)
    found = [entry for name in (LONG_TERM.name, SESSION.name) for entry in entries[name] if entry.triggered]
    related = [*entries.pop(TRIGGERED.name), *(replace(entry, priority=entry.score) for entry in found)]
    always = {active.id for active in memories[LONG_TERM.name] if active.always}
    entries[LONG_TERM.name] = [entry for entry in entries[LONG_TERM.name] if entry.id in always]
    protected = {name: _protect(items, PROTECTED_KINDS.get(name, ())) for name, items in entries.items()}
    return Candidates(protected, sorted(related, key=lambda entry: -entry.score))


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
    layers = layer_entries(turn, character, plan)
    if text is not None:
        stored = {slot.name for slot in RECALLED}
        layers = {name: entries for name, entries in layers.items() if name not in stored}
    return fill(plan, Candidates(tellable(turn, character, {**layers, **recalled}), text=text))


def layer_entries(turn: UserTurn, character: Character | None, plan: SlotPlan) -> dict[str, list[Entry]]:
    """Return the entries that no search is needed for, by slot name; before ``tellable``."""
    return {name: read(turn, character) if plan.slots[name].enabled else [] for name, read in LAYERS.items()}


def tellable(
    turn: UserTurn, character: Character | None, entries: Mapping[str, Sequence[Entry]]
) -> dict[str, list[Entry]]:
    """Return the entries, by slot name, that tell the character no secret; of several sentences the others.

    All entries of a prompt pass here before they fill a slot.
    """
    secrets = Viewpoint(turn.chat, character).secrets(turn.knowledge)

    def without_secrets(items: Sequence[Entry]) -> list[Entry]:
        lines = [(entry, secrets.without(entry.line)) for entry in items]
        return [entry if line == entry.line else replace(entry, line=line) for entry, line in lines if line]

    # What characters suspect or believe is in their own mind, also where they don't know that it is so.
    return {name: list(items) if name == EPISTEMIC.name else without_secrets(items) for name, items in entries.items()}
