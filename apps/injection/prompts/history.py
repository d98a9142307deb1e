"""Build the conversation of a prompt: the newest messages within a token budget, with the slots inserted."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext

from apps.chats.models import Character, Chat
from apps.common.problems import Invalid
from apps.injection.prompts.filled_slots import FilledSlot
from apps.injection.slots.budgets import CountFunction
from apps.injection.slots.definitions import IN_PROMPT
from apps.injection.turns import UserTurn, spoken_turns_newest_first
from apps.llm.tokens import count_tokens


def history_within(
    turn: UserTurn,
    budget: int,
    count: CountFunction = count_tokens,
    *,
    character: Character | None = None,
    skipped: int = 0,
) -> list[dict[str, str]]:
    """Return the newest visible messages but ``skipped``, oldest first, with at most ``budget`` tokens together.

    In a group, only those that the character witnessed. Raise Invalid if the newest message alone has more.
    """
    history: list[dict[str, str]] = []
    remaining = budget
    for message in _newest_first(turn, character, skipped):
        tokens = count(message["content"])
        if tokens > remaining:
            if not history:
                detail = gettext("The last turn alone has %(tokens)s tokens, and only %(budget)s are available.") % {
                    "tokens": tokens,
                    "budget": budget,
                }
                raise Invalid.at("/context_tokens", detail)
            break
        history.append(message)
        remaining -= tokens
    return history[::-1]


def _newest_first(turn: UserTurn, character: Character | None, skipped: int) -> Iterator[dict[str, str]]:
    """Yield the turn, if it is unsent, and then the visible messages of the chat, newest first."""
    chat = turn.chat
    if turn.message is None and turn.text:
        yield {"role": "user", "content": _spoken(chat, chat.user_name, turn.text)}
    for message in spoken_turns_newest_first(chat, character, skipped=skipped):
        content = _spoken(chat, message.name, message.mes)
        yield {"role": "user" if message.is_user else "assistant", "content": content}


def _spoken(chat: Chat, name: str, text: str) -> str:
    """Return the text of a message, in a group after the speaker's name: a role doesn't tell who of them speaks."""
    return f"{name}: {text}" if chat.is_group and name else text


def insert_slots(slots: Sequence[FilledSlot], history: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the history with the non-empty slots inserted before it, by depth, or within it, at their depth."""
    filled = [slot for slot in slots if slot.text]
    in_prompt = [item for item in filled if item.slot.position == IN_PROMPT]
    messages = [_slot_message(item) for item in sorted(in_prompt, key=lambda item: item.slot.depth)]
    in_chat = [item for item in filled if item.slot.position != IN_PROMPT]
    for position in range(len(history) + 1):
        messages_after = len(history) - position
        messages += [_slot_message(item) for item in in_chat if min(item.slot.depth, len(history)) == messages_after]
        messages += history[position : position + 1]
    return messages


def _slot_message(filled: FilledSlot) -> dict[str, str]:
    return {"role": filled.slot.role, "content": filled.text}
