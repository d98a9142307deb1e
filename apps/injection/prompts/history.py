"""Build the conversation of a prompt: the newest messages within a token budget, with the slots inserted."""

from collections.abc import Iterator, Sequence

from apps.common.problems import Invalid
from apps.injection.prompts.filled_slots import FilledSlot
from apps.injection.slots.definitions import IN_PROMPT
from apps.injection.turns import UserTurn, visible_messages_newest_first
from apps.llm.tokens import count_tokens


def history_within(turn: UserTurn, budget: int) -> list[dict[str, str]]:
    """Return the newest visible messages, oldest first, that together cost at most ``budget`` tokens.

    Raise Invalid if the newest message alone costs more.
    """
    history: list[dict[str, str]] = []
    left = budget
    for message in _newest_first(turn):
        cost = count_tokens(message["content"])
        if cost > left:
            if not history:
                detail = f"The last turn alone needs {cost} tokens, and {budget} are left for it."
                raise Invalid.at("/context_tokens", detail)
            break
        history.append(message)
        left -= cost
    return history[::-1]


def _newest_first(turn: UserTurn) -> Iterator[dict[str, str]]:
    """Yield the turn, if it is unsent, and then the visible messages of the chat, newest first."""
    if turn.message is None and turn.text:
        yield {"role": "user", "content": turn.text}
    for message in visible_messages_newest_first(turn.chat):
        yield {"role": "user" if message.is_user else "assistant", "content": message.mes}


def insert_slots(slots: Sequence[FilledSlot], history: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the history with the non-empty slots before it or, at their depth, within it."""
    filled = [slot for slot in slots if slot.text]
    messages = [_slot_message(item) for item in filled if item.slot.position == IN_PROMPT]
    inside = [item for item in filled if item.slot.position != IN_PROMPT]
    for place in range(len(history) + 1):
        following = len(history) - place
        messages += [_slot_message(item) for item in inside if min(item.slot.depth, len(history)) == following]
        messages += history[place : place + 1]
    return messages


def _slot_message(filled: FilledSlot) -> dict[str, str]:
    return {"role": filled.slot.role, "content": filled.text}
