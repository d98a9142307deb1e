"""Puts a prompt together: the slots of a turn, and around them the conversation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError

from apps.chats.models import Character, Chat
from apps.common.problems import Invalid
from apps.injection.budgets import fit
from apps.injection.entries import EditedLine
from apps.injection.models import Recall
from apps.injection.operations import mark_reused, recall_row, store_recall
from apps.injection.recall import Recollection, recall
from apps.injection.rendering import split_blocks
from apps.injection.slots import IN_PROMPT, SLOTS, TRIGGERED, Slot
from apps.injection.turn_class import adapted_budgets, classify
from apps.injection.turns import Turn, find_turn, newest_first
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.tokens import count_tokens

HEADINGS = {slot.name: slot.heading for slot in SLOTS}


@dataclass(frozen=True)
class FilledSlot:
    """A slot as it goes into the prompt; numbers are tokens, ``trimmed`` entries left out."""

    slot: Slot
    text: str
    tokens: int
    full_tokens: int
    trimmed: int
    budget: int


@dataclass(frozen=True)
class Prompt:
    """All that a client needs for one call of a model. ``recall`` is None where nothing came to mind."""

    slots: list[FilledSlot]
    recall: Recall | None
    messages: list[dict[str, str]] | None
    total_tokens: int
    turn_class: str

    @property
    def macros(self) -> dict[str, str]:
        return {filled.slot.macro: filled.text for filled in self.slots}


def assemble(
    chat: Chat, *, text: str | None, character: Character | None, context_tokens: int, with_history: bool
) -> Prompt:
    """The prompt for a turn of the chat, with what was recalled for it stored on the turn.

    It costs at most ``context_tokens``. Raises Invalid where the turn alone costs more.
    """
    turn = find_turn(chat, text)
    turn_class = classify(turn.text)
    budgets = slot_budgets(turn_class, context_tokens)
    row, slots = _recalled_slots(turn, character or chat.character, budgets)
    cost = sum(filled.tokens for filled in slots)
    if not with_history:
        return Prompt(slots, row, None, cost, turn_class)
    history = history_within(turn, context_tokens - cost)
    cost += sum(count_tokens(message["content"]) for message in history)
    return Prompt(slots, row, place_slots(slots, history), cost, turn_class)


def slot_budgets(turn_class: str, context_tokens: int) -> dict[str, int]:
    """Budgets by slot name for a turn of this class; all memory together takes at most half of the context."""
    budgets = adapted_budgets(turn_class, {slot.name: slot.budget for slot in SLOTS})
    scale = min(1.0, context_tokens / 2 / sum(budgets.values()))
    return {name: int(budget * scale) for name, budget in budgets.items()}


# The recall of the turn


def _recalled_slots(
    turn: Turn, character: Character | None, budgets: Mapping[str, int]
) -> tuple[Recall | None, list[FilledSlot]]:
    """A fresh recall if there can be one; else the stored one, if it was made for this text; else nothing.

    What a person has edited stands before a fresh one.
    """
    stored = _stored_recall(turn)
    if stored is not None and stored.edited:
        return _reused(stored, budgets)
    try:
        recollection = recall(turn, character, budgets)
    except (EmbeddingUnavailable, OperationalError):
        return _reused(stored, budgets)
    row = recall_row(recollection) if turn.message is None else store_recall(recollection)
    if row.edited:  # a person was quicker
        return _reused(row, budgets)
    return (row if row.text else None), _fresh_slots(recollection, budgets)


def _stored_recall(turn: Turn) -> Recall | None:
    """The recall that the turn has, if it was made for the text that the turn has now."""
    rows = Recall.objects.for_owner(turn.owner_id).filter(turn_hash=turn.hash)
    return rows.filter(message=turn.message).first() if turn.message else None


def _fresh_slots(recollection: Recollection, budgets: Mapping[str, int]) -> list[FilledSlot]:
    chosen = [(slot, recollection.fitted[slot.name]) for slot in SLOTS]
    return [
        FilledSlot(slot, fitted.text, fitted.tokens, fitted.full_tokens, fitted.trimmed, budgets[slot.name])
        for slot, fitted in chosen
    ]


def _reused(row: Recall | None, budgets: Mapping[str, int]) -> tuple[Recall | None, list[FilledSlot]]:
    blocks = split_blocks(row.text, HEADINGS, TRIGGERED.name) if row else {}
    slots = [_edited_slot(slot, blocks.get(slot.name, ""), budgets[slot.name]) for slot in SLOTS]
    return (mark_reused(row) if row else None), slots


def _edited_slot(slot: Slot, text: str, budget: int) -> FilledSlot:
    """A block of a stored text; above the budget it loses whole lines, the last ones first."""
    lines = [EditedLine(line, -number) for number, line in enumerate(text.splitlines())]
    fitted = fit(lines, budget, "\n".join, count_tokens)
    return FilledSlot(slot, fitted.text, fitted.tokens, fitted.full_tokens, fitted.trimmed, budget)


# The conversation


def history_within(turn: Turn, budget: int) -> list[dict[str, str]]:
    """The newest visible messages, oldest first, that together cost at most ``budget`` tokens.

    Raises Invalid where not even the last of them does.
    """
    history: list[dict[str, str]] = []
    left = budget
    for message in _newest_first(turn):
        cost = count_tokens(message["content"])
        if cost > left:
            _refuse_if_empty(history, cost, budget)
            break
        history.append(message)
        left -= cost
    return history[::-1]


def _refuse_if_empty(history: Sequence[Any], cost: int, budget: int) -> None:
    if not history:
        raise Invalid.at("/context_tokens", f"The last turn alone needs {cost} tokens, and {budget} are left for it.")


def _newest_first(turn: Turn) -> Iterator[dict[str, str]]:
    """The turn, if it has not been sent yet, and the chat from its end backwards."""
    if turn.message is None and turn.text:
        yield _chat_message("user", turn.text)
    for message in newest_first(turn.chat):
        yield _chat_message("user" if message.is_user else "assistant", message.mes)


def _chat_message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def place_slots(slots: Sequence[FilledSlot], history: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The slots before the history, or within it with as many messages after them as their depth says."""
    filled = [slot for slot in slots if slot.text]
    messages = [_slot_message(item) for item in filled if item.slot.position == IN_PROMPT]
    inside = [item for item in filled if item.slot.position != IN_PROMPT]
    for place in range(len(history) + 1):
        following = len(history) - place
        messages += [_slot_message(item) for item in inside if min(item.slot.depth, len(history)) == following]
        messages += history[place : place + 1]
    return messages


def _slot_message(filled: FilledSlot) -> dict[str, str]:
    return _chat_message(filled.slot.role, filled.text)
