"""Assemble a prompt: recall for a turn, fill the slots, and place them in the conversation."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import OperationalError

from apps.chats.models import Character, Chat
from apps.injection.models import Recall
from apps.injection.operations import mark_reused, store_recall, unstored_recall
from apps.injection.prompts.filled_slots import FilledSlot, slots_of_entries, slots_of_text
from apps.injection.prompts.history import history_within, insert_slots
from apps.injection.retrieval.service import retrieve
from apps.injection.slots.definitions import BUDGETS
from apps.injection.slots.turn_class import adapted_budgets, classify
from apps.injection.turns import UserTurn, find_turn
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.tokens import count_tokens


@dataclass(frozen=True)
class Prompt:
    """The parts of a prompt for one call of a model.

    ``recall`` is None if nothing was recalled, ``messages`` is None if the history was not requested.
    """

    slots: list[FilledSlot]
    recall: Recall | None
    messages: list[dict[str, str]] | None
    total_tokens: int
    turn_class: str
    unified: str | None = None  # reserved by the HTTP contract: all slots as one text

    @property
    def macros(self) -> dict[str, str]:
        return {filled.slot.macro: filled.text for filled in self.slots}


def assemble(
    chat: Chat,
    *,
    text: str | None,
    character: Character | None,
    context_tokens: int,
    with_history: bool,
    leave_trace: bool = True,
) -> Prompt:
    """Return the prompt for the turn that ``find_turn`` returns, and store the recall of a sent turn.

    The prompt has at most ``context_tokens`` tokens. Without ``leave_trace`` nothing is stored.
    Raise Invalid if the turn alone has more.
    """
    turn = find_turn(chat, text)
    turn_class = classify(turn.text)
    budgets = slot_budgets(turn_class, context_tokens)
    recall, slots = _recalled_slots(turn, character or chat.character, budgets, leave_trace=leave_trace)
    tokens = sum(filled.tokens for filled in slots)
    if not with_history:
        return Prompt(slots, recall, None, tokens, turn_class)
    history = history_within(turn, context_tokens - tokens)
    tokens += sum(count_tokens(message["content"]) for message in history)
    return Prompt(slots, recall, insert_slots(slots, history), tokens, turn_class)


def slot_budgets(turn_class: str, context_tokens: int) -> dict[str, int]:
    """Return the budgets in tokens by slot name. Their sum is at most half of the context."""
    budgets = adapted_budgets(turn_class, BUDGETS)
    scale = min(1.0, context_tokens / 2 / sum(budgets.values()))
    return {name: int(budget * scale) for name, budget in budgets.items()}


def _recalled_slots(
    turn: UserTurn, character: Character | None, budgets: Mapping[str, int], *, leave_trace: bool
) -> tuple[Recall | None, list[FilledSlot]]:
    """Return the recall of the turn, or None, and the slots filled with it.

    Use a recall that the user edited for this text, else a fresh one. If retrieval fails, use the stored recall for
    this text, if any.
    """
    stored = _stored_recall(turn)
    if stored is not None and stored.edited:
        return _reuse(stored, budgets, leave_trace=leave_trace)
    try:
        retrieved = retrieve(turn, character, budgets)
    except (EmbeddingUnavailable, OperationalError):
        return _reuse(stored, budgets, leave_trace=leave_trace)
    is_stored = turn.message is not None and leave_trace
    recall = store_recall(retrieved) if is_stored else unstored_recall(retrieved)
    if recall.edited:  # the user edited the recall during retrieval
        return _reuse(recall, budgets, leave_trace=leave_trace)
    return (recall if recall.text else None), slots_of_entries(retrieved.fitted, budgets)


def _stored_recall(turn: UserTurn) -> Recall | None:
    """Return the recall stored for the turn, if it was made for the turn's current text."""
    recalls = Recall.objects.for_owner(turn.owner_id).filter(turn_hash=turn.hash)
    return recalls.filter(message=turn.message).first() if turn.message else None


def _reuse(
    recall: Recall | None, budgets: Mapping[str, int], *, leave_trace: bool
) -> tuple[Recall | None, list[FilledSlot]]:
    slots = slots_of_text(recall.text if recall else "", budgets)
    return (mark_reused(recall) if recall and leave_trace else recall), slots
