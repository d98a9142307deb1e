"""Select messages around a window, and as many entries as fit into a prompt; find the turn that a line comes from."""

import math
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import TypeVar

from apps.chats.models import Chat, Message
from apps.english.words import content_words
from apps.llm.tokens import count_tokens

T = TypeVar("T")


def messages_between(chat: Chat, first: int, last: int, limit: int = 400) -> list[Message]:
    """Return the newest ``limit`` messages from index ``first`` to ``last``, inclusive, in order.

    Messages that are left out of memory don't count.
    """
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__gte=first, index__lte=last)
    return list(rows.remembered().with_swipes().order_by("-index")[:limit])[::-1]


def fitting(items: Iterable[T], budget: float, size: Callable[[T], float]) -> list[T]:
    """Return the first items whose sizes are at most ``budget`` together."""
    kept: list[T] = []
    for item in items:
        budget -= size(item)
        if budget < 0:
            break
        kept.append(item)
    return kept


def within_budget(turns: Mapping[int, Message], budget: float) -> dict[int, Message]:
    """Return the newest turns that have at most ``budget`` tokens together, in order; at least one, if need be cut."""
    kept: dict[int, Message] = {}
    left = budget
    for number, turn in reversed(list(turns.items())):
        left -= count_tokens(turn.mes)
        if kept and left < 0:
            break
        kept[number] = turn if left >= 0 else with_text(turn, parts_of(turn.mes, budget)[-1])
    return dict(reversed(list(kept.items())))


def parts_of(text: str, budget: float, max_chars: float = math.inf) -> list[str]:
    """Divide a text into parts of about ``budget`` tokens and at most ``max_chars`` characters.

    They end at the end of a line or a sentence, where possible.
    """
    tokens = count_tokens(text)
    if tokens <= budget and len(text) <= max_chars:
        return [text]
    length = max(int(min(len(text) * budget / max(tokens, 1), max_chars)), 1)
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = min(start + length, len(text))
        if end < len(text):
            ends = [text.rfind(mark, start + length // 2, end) + len(mark) for mark in ("\n", ". ", " ")]
            end = next((found for found in ends if found > start + length // 2), end)
        parts.append(text[start:end])
        start = end
    return parts


def with_text(message: Message, text: str) -> Message:
    """Return a copy of a message, not to be saved, whose active swipe has another text."""
    # The text of a message is that of its active swipe, which is looked up among its prefetched ones. The copy gets a
    # prefetched queryset of its own, since that of the message is shared with whoever else reads it.
    copied, swipe = copy(message), copy(message.active_swipe)
    swipe.mes = text
    swipes = message.swipes.all()._chain()  # type: ignore[attr-defined]
    swipes._result_cache = [swipe]
    copied._prefetched_objects_cache = {"swipes": swipes}  # type: ignore[attr-defined]
    return copied


def source_of(text: str, turns: Mapping[int, Message], *, with_names: bool = True) -> int:
    """Return the number of the turn, of at least one, that a line most likely comes from."""
    texts = {number: f"{turn.name}: {turn.mes}" if with_names else turn.mes for number, turn in turns.items()}
    number = find_source_turn(text, texts)
    assert number is not None
    return number


def find_source_turn(text: str, turns: Mapping[int, str]) -> int | None:
    """Return the number of the turn that shares most words with ``text``, the latest of several; None without turns."""
    words = content_words(text)
    scores = {number: len(words & content_words(turn)) for number, turn in turns.items()}
    return max(scores, key=lambda number: (scores[number], number), default=None)
