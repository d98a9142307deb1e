"""Decide which recall a prompt uses: a fresh one, a stored one that is kept, or a text that a person edited."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet

from apps.chats.models import Character
from apps.common.database.compiled_queries import CompiledQuery
from apps.llm.embeddings import EmbeddingUnavailable
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.models import Recall, is_for
from apps.prompts.operations import mark_reused, store_recall, unstored_recall
from apps.prompts.retrieval.reuse import current_entries, is_kept_for
from apps.prompts.retrieval.service import RetrievalResult, layer_entries, retrieve, tellable
from apps.prompts.slots.blocks import join_blocks
from apps.prompts.slots.budgets import CountFunction, FittedItems
from apps.prompts.slots.definitions import RECALLED
from apps.prompts.slots.entries import Entry
from apps.prompts.slots.filled_slots import FilledSlot
from apps.prompts.slots.filling import Candidates, fill
from apps.prompts.slots.plan import Plan
from apps.prompts.turns import UserTurn


@dataclass(frozen=True)
class Fresh:
    """What was retrieved for the turn just now, and the recall made of it."""

    recall: Recall
    retrieved: RetrievalResult


@dataclass(frozen=True)
class Kept:
    """A recall stored for the turn, with those of its entries that may still be told."""

    recall: Recall


@dataclass(frozen=True)
class Edited:
    """A text that a person wrote in place of what was recalled.

    Without a recall the text is empty: a person deleted it, or nothing could be retrieved.
    """

    recall: Recall | None


@dataclass(frozen=True)
class Recalled:
    """All slots of a prompt, filled, and the recall that they tell, None if nothing was recalled.

    ``fitted`` are the entries of the slots, if they are fresh.
    """

    recall: Recall | None
    slots: list[FilledSlot]
    fitted: Mapping[str, FittedItems[Entry]] | None = None


def recall_for(turn: UserTurn, character: Character | None, plan: Plan, request: PromptRequest) -> Recalled:
    """Fill the slots for a turn, and store what was recalled if the request leaves a trace."""
    chosen = _choose(turn, character, plan, request)
    if isinstance(chosen, Fresh):
        filling = chosen.retrieved.filling
        return Recalled(chosen.recall if chosen.recall.text else None, filling.slots, filling.fitted)
    entries = layer_entries(turn, character, plan)  # what needs no search is read for each prompt
    text = None
    if isinstance(chosen, Edited):
        names = {slot.name for slot in RECALLED}
        entries = {name: items for name, items in entries.items() if name not in names}
        text = chosen.recall.text if chosen.recall else ""
    else:
        entries |= current_entries(turn, character, chosen.recall)
    entries = tellable(turn, character, entries)
    slots = fill(plan, Candidates(entries, text=text)).slots
    if chosen.recall is None:
        return Recalled(None, slots)
    used = mark_reused(chosen.recall) if request.leave_trace else chosen.recall
    given = [entry for items in entries.values() for entry in items]
    if not turn.chat.is_group and (used.edited or _is_given(used, given)):
        return Recalled(used, slots)
    told = _as_told(used, slots, given, plan.count)
    return Recalled(told if told.text or told.edited else None, slots)


def _choose(turn: UserTurn, character: Character | None, plan: Plan, request: PromptRequest) -> Fresh | Kept | Edited:
    """Return a recall that the user edited, or deleted for this text, else a fresh one.

    If retrieval fails, had no embeddings or finds nothing, return the stored recall for this text. A request for
    another reply gets the stored one, too.
    """
    stored = STORED.first(turn.owner_id, turn.chat.pk, turn.hash, turn.message.pk if turn.message else None)
    is_stored = request.leave_trace and bool(turn.text)
    if stored is not None and stored.edited and not is_kept_for(turn, character, stored):
        # A member of a group who did not witness what the text is about gets a fresh recall, for this prompt alone.
        stored, is_stored = None, False
    if stored is not None and (
        stored.edited or stored.deleted or (request.again and is_kept_for(turn, character, stored))
    ):
        return _as_stored(stored)
    try:
        with _savepoint():
            retrieved = retrieve(turn, character, plan)
    except (EmbeddingUnavailable, OperationalError):
        return _as_stored(stored)
    if stored is not None and not (retrieved.has_vectors and retrieved.text):
        return _as_stored(stored)
    recall = store_recall(retrieved) if is_stored else unstored_recall(retrieved)
    if recall.edited and not is_kept_for(turn, character, recall):
        recall = unstored_recall(retrieved)
    # During retrieval the user may have edited or deleted it, or another prompt may have stored more than nothing.
    if recall.edited or recall.deleted or recall.text != retrieved.text:
        return _as_stored(recall)
    return Fresh(recall, retrieved)


def _as_stored(recall: Recall | None) -> Kept | Edited:
    if recall is None or recall.deleted:
        return Edited(None)
    return Edited(recall) if recall.edited else Kept(recall)


def _savepoint() -> AbstractContextManager[Any]:
    """Return a savepoint, with which the transaction of an idempotent request can go on after a database error.

    Without a transaction there is no need for one, and reads may run at the same time.
    """
    return transaction.atomic() if connection.in_atomic_block else nullcontext()


def _of_text(owner_id: Any, chat_id: Any, turn_hash: Any, message_id: Any) -> QuerySet[Recall]:
    """Return the recall of a turn, if it was made for the turn's current text or edited by a person."""
    recalls: QuerySet[Recall] = Recall.objects.for_owner(owner_id).filter(chat=chat_id, message=message_id)
    return recalls.filter(is_for(turn_hash))


STORED = CompiledQuery(_of_text)


def _is_given(recall: Recall, entries: Iterable[Entry]) -> bool:
    """Return whether all of a recall may still be told."""
    return {(item["tier"], item["id"]) for item in recall.memories} <= {(one.tier, str(one.id)) for one in entries}


def _as_told(recall: Recall, slots: Sequence[FilledSlot], entries: Iterable[Entry], count: CountFunction) -> Recall:
    """Return a copy of a recall that has only what the prompt has: it may be made for another member of a group, or
    before something of it was hidden, deleted or kept from the character.

    An edited text is as it is: they know all that it was made from.
    """
    told = copy(recall)
    told.left_out, told.left_out_count = [], 0
    if not recall.edited:
        known = {(entry.tier, str(entry.id)) for entry in entries}
        told.memories = [item for item in recall.memories if (item["tier"], item["id"]) in known]
        recalled = {slot.name for slot in RECALLED}
        told.text = join_blocks(item.text for item in slots if item.slot.name in recalled)
        told.tokens = count(told.text)
    return told
