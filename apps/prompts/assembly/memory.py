"""Assemble a prompt: recall for a turn, fill the slots, and place them in the conversation."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet

from apps.chats.models import Character, Chat
from apps.common.database.compiled_queries import CompiledQuery
from apps.llm.embeddings import EmbeddingUnavailable
from apps.prompts.assembly.history import History, insert_slots
from apps.prompts.assembly.placement import budgets_in_mode, place
from apps.prompts.assembly.prefix import digests_of, unchanged_count
from apps.prompts.assembly.states import holding_of, last_state, store_state
from apps.prompts.models import PromptState, Recall, is_for
from apps.prompts.operations import mark_reused, store_recall, unstored_recall
from apps.prompts.retrieval.reuse import current_entries, is_kept_for
from apps.prompts.retrieval.service import RetrievalResult, fit_in_order, fit_triggered, layer_entries, retrieve
from apps.prompts.settings.schema import Settings
from apps.prompts.settings.stores import plan_for, settings_of
from apps.prompts.slots.allocation import within_rest
from apps.prompts.slots.blocks import join_blocks
from apps.prompts.slots.budgets import CountFunction
from apps.prompts.slots.definitions import RECALLED, SLOTS, TRIGGERED
from apps.prompts.slots.entries import Entry
from apps.prompts.slots.filled_slots import FilledSlot, slot_of_entries, slots_of_entries, slots_of_text
from apps.prompts.slots.plan import Plan, Shown
from apps.prompts.slots.turn_class import classify
from apps.prompts.statistics import record
from apps.prompts.turns import UserTurn, find_turn
from apps.prompts.witnessing import speaker_or_default

CARD_FIELDS = ("system_prompt", "description", "personality", "scenario", "mes_example")  # in which macros may stand


@dataclass(frozen=True)
class Prompt:
    """The parts of a prompt for one call of a model.

    ``recall`` is None if nothing was recalled, ``messages`` is None if the history was not requested. ``macros`` are
    the texts of all macros by name. ``unified`` is the text of the one block, or None in other modes. The first
    ``stable_tokens`` are the same as in the last prompt of the chat for this character, whose ``state`` it is.
    """

    slots: list[FilledSlot]
    recall: Recall | None
    messages: list[dict[str, str]] | None
    total_tokens: int
    turn_class: str
    macros: dict[str, str]
    unified: str | None = None
    stable_tokens: int = 0
    state: PromptState | None = None


def assemble(
    chat: Chat,
    *,
    text: str | None,
    character: Character | None,
    context_tokens: int,
    with_history: bool,
    texts: Sequence[str] = (),
    sends_card: bool = True,
    settings: Settings | None = None,
    leave_trace: bool = True,
    keep_recall: bool = False,
    shown: Shown | None = None,
) -> Prompt:
    """Return the prompt for the turn that ``find_turn`` returns, and store its recall.

    The prompt has at most ``context_tokens`` tokens. ``texts`` are parts of the prompt, besides the card, in which
    macros may stand; without ``sends_card`` the card is no part of it. ``settings`` are by default those of the chat.
    Without ``leave_trace`` nothing is stored. With ``keep_recall`` a recall that is stored for the turn is used again.
    ``shown`` tells which messages the caller's history has. Raise Invalid if the newest message alone has more tokens.
    """
    speaker = speaker_or_default(chat, character)
    turn = replace(find_turn(chat, text, speaker), is_previewed=not leave_trace)
    settings = settings or settings_of(chat)
    turn_class = classify(turn.text)
    state = last_state(chat, speaker)
    plan = plan_for(chat, speaker, turn_class, settings, context_tokens)
    plan = replace(plan, budgets=budgets_in_mode(plan.budgets, settings), holding=holding_of(state, turn, settings))
    history = History(turn, plan.count, character=speaker)
    if with_history:
        context = within_rest(context_tokens, history.newest_tokens())
        plan = replace(plan, context_tokens=context, shown=lambda used: history.ids_within(context_tokens - used))
    else:
        plan = replace(plan, shown=shown)
    recall, filled, retrieved = _recalled_slots(turn, speaker, plan, leave_trace=leave_trace, keep=keep_recall)
    fields = [getattr(speaker, name) for name in CARD_FIELDS] if speaker and sends_card else []
    placed = place(filled, settings, [*fields, *texts], plan.count)
    total = sum(item.tokens for item in placed.slots)
    spoken = history.within(context_tokens - total) if with_history else []
    messages = insert_slots(placed.slots, spoken)
    prefix = digests_of(messages)
    stable = messages[: unchanged_count(state.prefix, prefix)]
    if leave_trace:
        record(chat, filled)
        store_state(state, prefix, plan, retrieved)
    return Prompt(
        slots=placed.slots,
        recall=recall,
        messages=messages if with_history else None,
        total_tokens=total + sum(plan.count(message["content"]) for message in spoken),
        turn_class=turn_class,
        macros=placed.macros,
        unified=placed.unified,
        stable_tokens=sum(plan.count(message["content"]) for message in stable),
        state=state,
    )


def _recalled_slots(
    turn: UserTurn, character: Character | None, plan: Plan, *, leave_trace: bool, keep: bool
) -> tuple[Recall | None, list[FilledSlot], RetrievalResult | None]:
    """Return the recall of the turn, or None, the slots filled with it, and what was retrieved.

    Use a recall that the user edited, or deleted for this text, else a fresh one. A member of a group gets no edited
    text about what they did not witness, but a fresh recall. If retrieval fails, had no embeddings
    or finds nothing, use the stored recall for this text, if any.
    """
    stored = _stored_recall(turn)
    if stored is not None and stored.edited and not is_kept_for(turn, character, stored):
        stored, leave_trace = None, False
    if stored is not None and (stored.edited or stored.deleted or (keep and is_kept_for(turn, character, stored))):
        return _reuse(turn, character, stored, plan, leave_trace=leave_trace)
    try:
        with _savepoint():
            retrieved = retrieve(turn, character, plan)
    except (EmbeddingUnavailable, OperationalError):
        return _reuse(turn, character, stored, plan, leave_trace=leave_trace)
    if stored is not None and not (retrieved.has_vectors and retrieved.text):
        return _reuse(turn, character, stored, plan, leave_trace=leave_trace)
    recall = store_recall(retrieved) if leave_trace and turn.text else unstored_recall(retrieved)
    if recall.edited and not is_kept_for(turn, character, recall):
        recall = unstored_recall(retrieved)
    # During retrieval the user may have edited or deleted it, or another prompt may have stored more than nothing.
    if recall.edited or recall.deleted or recall.text != retrieved.text:
        return _reuse(turn, character, recall, plan, leave_trace=leave_trace)
    return (recall if recall.text else None), slots_of_entries(plan, retrieved.fitted, retrieved.budgets), retrieved


def _savepoint() -> AbstractContextManager[Any]:
    """Return a savepoint, with which the transaction of an idempotent request can go on after a database error.

    Without a transaction there is no need for one, and reads may run at the same time.
    """
    return transaction.atomic() if connection.in_atomic_block else nullcontext()


def _stored_recall(turn: UserTurn) -> Recall | None:
    """Return the recall stored for the turn, if it was made for the turn's current text or edited by a person."""
    return STORED.first(turn.owner_id, turn.chat.pk, turn.hash, turn.message.pk if turn.message else None)


def _of_text(owner_id: Any, chat_id: Any, turn_hash: Any, message_id: Any) -> QuerySet[Recall]:
    recalls: QuerySet[Recall] = Recall.objects.for_owner(owner_id).filter(chat=chat_id, message=message_id)
    return recalls.filter(is_for(turn_hash))


STORED = CompiledQuery(_of_text)


def _reuse(
    turn: UserTurn, character: Character | None, recall: Recall | None, plan: Plan, *, leave_trace: bool
) -> tuple[Recall | None, list[FilledSlot], None]:
    """Fill the slots with a stored recall and with what needs no search. A text that a person edited is not cut."""
    recall = None if recall and recall.deleted else recall
    read = layer_entries(turn, character, plan)
    if recall is None:
        return None, _with_text("", read, plan), None
    entries = {} if recall.edited else current_entries(turn, character, recall)
    filled = _with_text(recall.text, read, plan) if recall.edited else _with_entries(entries, read, plan)
    used = mark_reused(recall) if leave_trace else recall
    given = [entry for items in (*read.values(), *entries.values()) for entry in items]
    if not turn.chat.is_group and (used.edited or _is_given(used, given)):
        return used, filled, None
    told = _as_told(used, filled, given, plan.count)
    return (told if told.text or told.edited else None), filled, None


def _is_given(recall: Recall, entries: Iterable[Entry]) -> bool:
    """Return whether all of a recall may still be told."""
    return {(item["tier"], item["id"]) for item in recall.memories} <= {(one.tier, str(one.id)) for one in entries}


def _as_told(recall: Recall, filled: Sequence[FilledSlot], entries: Iterable[Entry], count: CountFunction) -> Recall:
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
        told.text = join_blocks(item.text for item in filled if item.slot.name in recalled)
        told.tokens = count(told.text)
    return told


def _with_text(text: str, read: Mapping[str, Sequence[Entry]], plan: Plan) -> list[FilledSlot]:
    """Fill the slots with a text that stands for all that a recall stores."""
    recalled = {slot.name for slot in RECALLED}
    entries = {name: items for name, items in read.items() if name not in recalled}
    budgets = plan.budgets_for(entries)
    by_name = {item.slot.name: item for item in slots_of_text(plan, text, budgets)}
    for name, items in fit_in_order(plan, entries, budgets, text.splitlines()).items():
        by_name[name] = slot_of_entries(plan.slots[name], items, budgets[name])
    return [by_name[slot.name] for slot in SLOTS]


def _with_entries(
    stored: Mapping[str, Sequence[Entry]], read: Mapping[str, Sequence[Entry]], plan: Plan
) -> list[FilledSlot]:
    """Fill the slots with the entries of a recall and those that are read for each prompt."""
    entries = {**read, **{name: items if plan.slots[name].enabled else [] for name, items in stored.items()}}
    budgets = plan.budgets_for(entries)
    related = entries.pop(TRIGGERED.name)
    fitted = fit_in_order(plan, entries, budgets)
    fitted[TRIGGERED.name] = fit_triggered(plan, fitted, related, budgets[TRIGGERED.name])
    return slots_of_entries(plan, fitted, budgets)
