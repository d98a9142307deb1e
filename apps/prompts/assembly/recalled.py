"""Decide which recall a prompt uses: a fresh one, a stored one that is kept, or a text that a person edited.

Of a stored one, only what may still be told is used.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet

from apps.chats.models import Character, Message
from apps.common.database.compiled_queries import CompiledQuery
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.models import Memory
from apps.memories.quotations import inside, quoted_speaker
from apps.memories.recallable import is_current, recallable
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.filling.fill import Fitted
from apps.prompts.filling.plan import CountFunction, SlotPlan
from apps.prompts.models import Recall, is_for
from apps.prompts.operations import mark_reused, store_recall
from apps.prompts.retrieval.excerpts import ELLIPSIS
from apps.prompts.retrieval.service import retell, retrieve
from apps.prompts.slots.blocks import join_blocks, one_line
from apps.prompts.slots.definitions import LONG_TERM, RECALLED, SESSION, TRIGGERED
from apps.prompts.slots.entries import MESSAGES_TIER, Entry, FilledSlot
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint


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
    fitted: Mapping[str, Fitted[Entry]] | None = None


def recall_for(turn: UserTurn, character: Character | None, plan: SlotPlan, request: PromptRequest) -> Recalled:
    """Fill the slots for a turn, and store what was recalled if the request leaves a trace."""
    chosen = _choose(turn, character, plan, request)
    if isinstance(chosen, Recalled):
        return chosen
    if isinstance(chosen, Edited):
        retold = retell(turn, character, plan, {}, text=chosen.recall.text if chosen.recall else "")
    else:
        retold = retell(turn, character, plan, current_entries(turn, character, chosen.recall))
    slots = retold.slots
    if chosen.recall is None:
        return Recalled(None, slots)
    used = mark_reused(chosen.recall) if request.leave_trace else chosen.recall
    # Something of it may have been hidden, deleted or kept from the character since.
    told = {(entry.tier, str(entry.id)) for items in retold.candidates.entries.values() for entry in items}
    is_told = used.edited or told >= {(item["tier"], item["id"]) for item in used.memories}
    if not turn.chat.is_group and is_told:
        return Recalled(used, slots)
    used = _as_told(used, slots, told, plan.count)
    return Recalled(used if used.text or used.edited else None, slots)


def _choose(
    turn: UserTurn, character: Character | None, plan: SlotPlan, request: PromptRequest
) -> Recalled | Kept | Edited:
    """Return a recall that the user edited, or deleted for this text, else the slots with a fresh one.

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
    new = retrieved.recall
    if stored is not None and not (retrieved.has_vectors and new.text):
        return _as_stored(stored)
    recall = store_recall(turn, new) if is_stored else new
    if recall.edited and not is_kept_for(turn, character, recall):
        recall = new
    # During retrieval the user may have edited or deleted it, or another prompt may have stored more than nothing.
    if recall.edited or recall.deleted or recall.text != new.text:
        return _as_stored(recall)
    return Recalled(recall if recall.text else None, retrieved.filled.slots, retrieved.filled.fitted)


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


def _as_told(
    recall: Recall, slots: Sequence[FilledSlot], known: Collection[tuple[str, str]], count: CountFunction
) -> Recall:
    """Return a copy of a recall that has only what the prompt has: it may be made for another member of a group.

    ``known`` are tiers and ids of the entries that may be told. An edited text is as it is: they know all that it was
    made from.
    """
    told = copy(recall)
    told.left_out, told.left_out_count = [], 0
    if not recall.edited:
        told.memories = [item for item in recall.memories if (item["tier"], item["id"]) in known]
        recalled = {slot.name for slot in RECALLED}
        told.text = join_blocks(item.text for item in slots if item.slot.name in recalled)
        told.tokens = count(told.text)
    return told


def current_entries(turn: UserTurn, character: Character | None, recall: Recall) -> dict[str, list[Entry]]:
    """Return the memories and passages of a stored recall that are still as they were, by slot name.

    They are in the order of the text. Leave out those that were hidden, retired, edited or deleted since, that the
    character did not witness, and those of a scene that has ended unless the turn's text found them. Those that are
    kept from the character are left to ``tellable``.
    """
    texts = _current_memories(turn, character, recall)
    messages = _current_messages(turn, character, recall)
    entries: dict[str, list[Entry]] = {LONG_TERM.name: [], SESSION.name: [], TRIGGERED.name: []}
    documents = [
        (item, -number)  # the best first
        for number, item in enumerate(recall.memories)
        if item["slot"] in entries and (item["id"] in messages or texts.get(item["id"]) == one_line(item["text"]))
    ]
    for item, priority in sorted(documents, key=lambda pair: recall.text.find(one_line(pair[0]["text"]))):
        entries[item["slot"]].append(Entry.from_document(item, priority))
    return entries


def _current_memories(turn: UserTurn, character: Character | None, recall: Recall) -> dict[str, str]:
    """Return the texts of the recalled memories that may still be told, by id."""
    texts: dict[str, str] = {}
    chat, witness = turn.chat, Viewpoint(turn.chat, character).ids
    for tier in (LONG_TERM.name, SESSION.name):
        items = [item for item in recall.memories if item["tier"] == tier]
        found = [item["id"] for item in items if item["triggered"]]
        rows = recallable(chat, tier, character.pk if character else None, witness).known_at(chat, turn.index - 1)
        rows = rows.filter(Q(pk__in=found) | is_current(turn.scene_end), pk__in=[item["id"] for item in items])
        texts |= {str(pk): one_line(text) for pk, text in rows.values_list("pk", "text")}
    return texts


def _current_messages(turn: UserTurn, character: Character | None, recall: Recall) -> set[str]:
    """Return the ids of the messages that still have their recalled passages, and may still be told."""
    passages = {item["id"]: item["text"] for item in recall.memories if item["tier"] == MESSAGES_TIER}
    rows = Message.objects.for_owner(turn.owner_id).filter(pk__in=passages, chat__deleted_at=None, withheld=False)
    view = Viewpoint(turn.chat, character)
    return {
        str(message.pk)
        for message in rows.with_swipes()
        if view.has_heard(message) and _has_passage(message, passages[str(message.pk)])
    }


def _has_passage(message: Message, passage: str) -> bool:
    said = passage.partition(": ")[2] if quoted_speaker(passage) else passage.removeprefix(f"{message.name}: ")
    excerpt = said.strip(f"{ELLIPSIS} “”")
    return inside(excerpt) in one_line(inside(message.mes))


def is_kept_for(turn: UserTurn, character: Character | None, recall: Recall) -> bool:
    """Return whether a text that a person edited may be told to the character.

    In a group, they must know all entries that it was made from, and none may be kept from them: nothing tells which of
    these a changed line repeats.
    """
    if not turn.chat.is_group:
        return True
    view = Viewpoint(turn.chat, character)
    ids = {item["id"] for item in recall.memories}
    messages = Message.objects.for_owner(turn.owner_id).filter(pk__in=ids).with_swipes()
    memories = Memory.objects.for_owner(turn.owner_id).filter(pk__in=ids).values_list("pk", flat=True)
    known = [message.pk for message in messages if view.has_heard(message)]
    known += view.known_of(list(memories))
    secrets = view.secrets(turn.knowledge)
    return ids == set(map(str, known)) and not any(secrets.are_told_by(item["text"]) for item in recall.memories)
