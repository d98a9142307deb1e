"""Compare a prompt with the last one of its chat: what it begins with, which a provider's cache keeps, and holds."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from apps.chats.models import Character, Chat
from apps.common.database.compiled_queries import CompiledQuery
from apps.prompts.models import PromptState
from apps.prompts.settings.schema import Settings
from apps.prompts.slots.budgets import FittedItems
from apps.prompts.slots.entries import Entry, Holding
from apps.prompts.slots.plan import Plan
from apps.prompts.turns import UserTurn, visible_messages

MAX_COMPARED = 200  # messages


def last_state(chat: Chat, character: Character | None) -> PromptState:
    """Return the state after the last prompt of a chat for a responding character, or an empty one."""
    state = STATE.first(chat.owner_id, chat.pk, character.pk if character else None)
    state = state or PromptState(owner_id=chat.owner_id, chat=chat)
    state.character = character
    return state


STATE = CompiledQuery(
    lambda owner, chat, character: PromptState.objects.for_owner(owner).filter(chat=chat, character=character)
)


def digests_of(messages: Sequence[Mapping[str, str]]) -> list[str]:
    """Return short hashes of the leading messages."""
    texts = [f"{message['role']}\n{message['content']}" for message in messages[:MAX_COMPARED]]
    return [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]


def unchanged_count(before: Sequence[str], now: Sequence[str]) -> int:
    """Return how many leading items are the same."""
    count = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        count += 1
    return count


def holding_of(state: PromptState, turn: UserTurn, settings: Settings) -> Holding | None:
    """Return what is held for the turn, or None if the settings refresh all blocks in each turn."""
    if settings.refresh_period == 1:
        return None
    number = visible_messages(turn.chat).filter(is_user=True, index__lt=turn.index).count()
    return Holding(state.held, number, settings.refresh_period)


def held_after(state: PromptState, plan: Plan, fitted: Mapping[str, FittedItems[Entry]] | None) -> Mapping[str, Any]:
    """Return what the next prompt holds.

    ``fitted`` is None for a prompt that uses a stored recall: then what is held does not change.
    """
    if plan.holding is None:
        return {}
    if fitted is None:
        held: Mapping[str, Any] = state.held
        return held
    return plan.holding.after({name: fitted[name].kept for name in plan.held_slots if name in fitted})


def store_state(
    state: PromptState, prefix: Sequence[str], whole: Sequence[str] | None, held: Mapping[str, Any]
) -> None:
    """Store what the next prompt is compared with. Of two prompts at once, the last one counts.

    ``whole`` is None for a prompt that is no whole one: the last whole one is still what the next is compared with.
    """
    values: dict[str, Any] = {"prefix": list(prefix), "held": held}
    if whole is not None:
        values["whole"] = list(whole)
    if all(getattr(state, name) == value for name, value in values.items()):
        return
    new = PromptState(owner_id=state.owner_id, chat_id=state.chat_id, character_id=state.character_id, **values)
    PromptState.objects.bulk_create(
        [new],
        update_conflicts=True,
        unique_fields=["chat", "character"],
        update_fields=[*values, "updated_at"],
    )
