"""How many tokens an edited recall has, whether a prompt has room for it, and which of its blocks no prompt uses."""

from dataclasses import dataclass
from math import floor
from uuid import UUID

from apps.chats.models import Chat
from apps.chats.queries.replying import reply_context
from apps.common.words import Words
from apps.prompts.models import Recall
from apps.prompts.settings.stores import plan_for, settings_of
from apps.prompts.slots.allocation import CONTEXT_SHARE
from apps.prompts.slots.definitions import RECALLED
from apps.prompts.slots.filled_slots import unused_slots
from apps.prompts.slots.turn_class import classify


@dataclass(frozen=True)
class TextSize:
    """The tokens of a text, the budget of a recall, and the most that a prompt has room for.

    ``edited``: a person wrote the text; else it was made for what its prompt had room for. ``unused`` are the labels of
    the blocks that are left out since their slots are switched off.
    """

    tokens: int
    budget: int
    room: int
    unused: list[Words]
    chat_id: UUID
    edited: bool

    @property
    def fits(self) -> bool:
        return self.tokens <= self.room

    @property
    def within_budget(self) -> bool:
        return self.tokens <= self.budget


def text_size(chat: Chat, recall: Recall, text: str) -> TextSize:
    """Return the size of a text for a recall, for the owner's model. Half of the context is for memory.

    The text that the recall has is as long as its card says.
    """
    context_tokens = reply_context(chat)
    settings = settings_of(chat)
    plan = plan_for(chat, chat.character, classify(recall.sent_message.mes), settings, context_tokens)
    budgets = plan.budgets_for({})
    budget = sum(budgets[slot.name] for slot in RECALLED if plan.slots[slot.name].enabled)
    room = floor(context_tokens * CONTEXT_SHARE)
    unused = [slot.label for slot in unused_slots(plan.slots, plan.names, text)]
    is_present = text.replace("\r\n", "\n") == recall.text
    tokens = recall.tokens if is_present else plan.count(text)
    return TextSize(tokens, budget, room, unused, chat.pk, recall.edited or not is_present)
