"""Recognise calls that a client makes for itself: titles, tags, summaries. Nothing here reads the database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.proxy.requests.nudges import Nudge, ends_with_instruction
from apps.proxy.requests.tasks import is_quiet_prompt, is_task
from apps.proxy.requests.texts import normalized
from apps.proxy.requests.turns import Turn

MAX_TOKENS_OF_SIDE_CALL = 64  # replies of a conversation are longer
MIN_QUOTED = 20  # characters; shorter messages may be quoted by chance


def is_side_call(body: Mapping[str, Any], turns: Sequence[Turn], nudge: Nudge | None) -> bool:
    """Return whether the request itself shows that it is no turn of a conversation.

    It asks for a format or for very few tokens, has no user's turn, sets a task in its only or, besides the chat, its
    last one, or ends with an instruction after a reply that is no ``nudge``.
    """
    limits = [body.get(name) for name in ("max_tokens", "max_completion_tokens")]
    is_tiny = any(type(limit) is int and 0 < limit <= MAX_TOKENS_OF_SIDE_CALL for limit in limits)
    response_format = body.get("response_format")
    is_formatted = isinstance(response_format, dict) and response_format.get("type") != "text"
    messages = body["messages"]
    is_instruction = ends_with_instruction(messages, turns) and nudge is None
    said = [turn.text for turn in turns if turn.is_user]
    if not said:
        return True
    sets_task = is_task(said[-1]) if len(turns) == 1 else turns[-1].is_user and is_quiet_prompt(said[-1])
    return is_tiny or is_formatted or is_instruction or sets_task


def quotes_a_chat(turns: Sequence[Turn], latest_texts: Iterable[Sequence[str]]) -> bool:
    """Return whether the only turn quotes a chat, as requests for titles do. ``latest_texts`` are of each chat."""
    if len(turns) != 1:
        return False
    text = normalized(turns[0].text)
    for texts in latest_texts:
        quoted = [normalized(latest) for latest in texts]
        if len(quoted) > 1 and all(quote in text for quote in quoted) and sum(map(len, quoted)) >= MIN_QUOTED:
            return len(text) > sum(map(len, quoted))
    return False
