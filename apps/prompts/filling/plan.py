"""Plan the slots of a prompt: their budgets, and what limits the entries that may stand in them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.chats.languages import catalogue_of
from apps.chats.models import Character, Chat
from apps.chats.queries.replying import reply_token_counter
from apps.prompts.filling.budgets import (
    DIALOGUE,
    BudgetStep,
    budget_steps,
    classify,
    room_in_context,
    within_context,
)
from apps.prompts.filling.statistics import demands_of
from apps.prompts.settings.schema import PromptSettings
from apps.prompts.slots.blocks import render_block
from apps.prompts.slots.definitions import IN_PROMPT, Slot, in_language
from apps.prompts.slots.entries import Entry, Holding

CountFunction = Callable[[str], int]
# The ids of the messages that stand in a prompt of which memory takes this number of tokens.
Shown = Callable[[int], Collection[UUID]]


@dataclass(frozen=True)
class SlotPlan:
    """Slots by name, their budgets in tokens, the placeholders of their templates, and the length of the context.

    ``context_tokens`` is None if a recall is made for later prompts, of which the context isn't known. ``holding`` is
    None if no block is held for several turns, ``shown`` is None if the history isn't known. ``steps`` tell which rules
    made the budgets, one of them by the ``turn_class``.
    """

    slots: Mapping[str, Slot]
    budgets: Mapping[str, int]
    names: Mapping[str, str]
    count: CountFunction
    context_tokens: int | None = None
    holding: Holding | None = None
    shown: Shown | None = None
    steps: Sequence[BudgetStep] = ()
    turn_class: str = DIALOGUE

    def budgets_for(self, entries: Mapping[str, Sequence[Entry]]) -> dict[str, int]:
        """Return the budgets of a prompt with these entries. A slot that isn't named may take its whole budget."""
        if self.context_tokens is None:
            return dict(self.budgets)
        demands = {name: self.count(self.render(name, items)) for name, items in entries.items()}
        return within_context(self.budgets, {**self.budgets, **demands}, self.context_tokens)

    def surely_shown(self) -> Collection[UUID] | None:
        """Return the ids of the messages that stand in the prompt however much is remembered, if that is known."""
        if self.shown is None:
            return None
        most = sum(self.budgets.values())
        return self.shown(most if self.context_tokens is None else min(most, room_in_context(self.context_tokens)))

    def render(self, name: str, entries: Sequence[Entry]) -> str:
        """Return the text of a slot with these entries."""
        return render_block(self.slots[name], [entry.written for entry in entries], self.names)

    def not_held_back(self, name: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the candidates that may go into a slot now: a block before the conversation may be held as it is."""
        if self.holding is None or name not in self.held_slots:
            return entries
        return self.holding.entries(name, entries)

    @property
    def held_slots(self) -> list[str]:
        return [name for name, slot in self.slots.items() if slot.position == IN_PROMPT]


def slot_plan_for(
    chat: Chat,
    character: Character | None,
    text: str,
    settings: PromptSettings,
    context_tokens: int | None = None,
    count: CountFunction | None = None,
) -> SlotPlan:
    """Return the plan of a prompt of the chat for a turn with this text. Without ``count`` the chat's model counts."""
    language, turn_class = catalogue_of(chat), classify(text)
    steps = budget_steps(settings, turn_class, demands_of(chat) if settings.auto_tune else {})
    return SlotPlan(
        slots={name: in_language(slot, language) for name, slot in settings.slots.items()},
        budgets=steps[-1].budgets,
        names=chat.names_for(character),
        count=count or reply_token_counter(chat),
        context_tokens=context_tokens,
        steps=steps,
        turn_class=turn_class,
    )
