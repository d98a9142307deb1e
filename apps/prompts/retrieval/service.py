"""Find the candidates for the slots of a turn, which are what its prompt may tell, and fill the slots with them.

``retrieve`` searches, and makes a new recall; ``retell`` takes what a stored recall has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from apps.chats.models import Character
from apps.common.database.concurrent_reads import read_concurrently
from apps.prompts.filling.fill import Candidates, FilledSlots, fill, fill_for_recall
from apps.prompts.filling.plan import SlotPlan
from apps.prompts.models import Recall
from apps.prompts.retrieval.found import found_entries
from apps.prompts.retrieval.layers import layer_entries
from apps.prompts.retrieval.related import search_related
from apps.prompts.slots.definitions import EPISTEMIC, LONG_TERM, RECALLED, SESSION, TRIGGERED
from apps.prompts.slots.entries import Entry
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint

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
        partial(search_related, turn, character, plan.surely_shown()),
        partial(layer_entries, turn, character, plan.slots),
    )
    told = tellable(turn, character, {**layers, **found_entries(turn, character, related)})
    found = told.pop(TRIGGERED.name)
    protected = {name: _protect(items, PROTECTED_KINDS.get(name, ())) for name, items in told.items()}
    filled, recall = fill_for_recall(turn, plan, Candidates(protected, found))
    return Retrieved(filled, recall, has_vectors=not related.lacks_vectors)


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
    """Return the entries, by slot name, that tell the character no secret; of several sentences the others.

    All entries of a prompt pass here before they fill a slot.
    """
    secrets = Viewpoint(turn.chat, character).secrets(turn.knowledge)

    def without_secrets(items: Sequence[Entry]) -> list[Entry]:
        lines = [(entry, secrets.without(entry.line)) for entry in items]
        return [entry if line == entry.line else replace(entry, line=line) for entry, line in lines if line]

    # What characters suspect or believe is in their own mind, also where they don't know that it is so.
    return {name: list(items) if name == EPISTEMIC.name else without_secrets(items) for name, items in entries.items()}
