"""Estimate what reading a chat's new messages with a connected model will take: calls, tokens and money."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from math import ceil
from typing import Any

from django.db.models import Count, F, Func, QuerySet, Sum

from apps.chats.models import Chat, Message
from apps.extraction.progress import messages_to_extract
from apps.extraction.settings.plans import MAX_MESSAGES, MAX_TOKENS, ReadingPlan, plan_for
from apps.extraction.settings.schema import READING_TIERS, Settings
from apps.extraction.settings.stores import settings_of
from apps.llm.backends.selection import backend_for
from apps.llm.generation import GenerationBackend
from apps.llm.queries import generation_connection
from apps.memories.witnesses import learners

BYTES_PER_TOKEN = 4  # of UTF-8; English has about 4 letters a token, Chinese a token of 3 bytes
# Tokens of a reading besides its messages, of a review, and of a closing call, as measured with scripted replies.
READING_TOKENS, REVIEW_TOKENS, CLOSING_TOKENS = 3000, 1200, 4000
REPLY_TOKENS = 600  # tokens of a reply
PLAIN_TOKENS, PLAIN_REPLY_TOKENS = 250, 100  # of a plain question besides its messages, and of the reply to it
MONEY = Decimal("0.01")


def estimate(chat: Chat, tiers: Sequence[str], start: int, end: int, *, again: bool = False) -> dict[str, Any]:
    """Return the expected calls, tokens and cost of reading the new messages between two indexes, for the tiers.

    ``again`` counts messages that were read before, too. Return an empty dict if no model is connected or nothing is
    to be read. ``cost`` is None without prices.
    """
    backend = backend_for(chat.owner_id)
    settings = settings_of(chat)
    plan = plan_for(chat.owner_id, settings, backend)
    if plan == ReadingPlan.BUILTIN:
        return {}
    count, tokens = _size(messages_to_extract(chat, tiers, start, end, again=again))
    return _total(chat, settings, (backend, plan), count, tokens) if count else {}


def sum_of_estimates(estimates: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sum of estimates for chats of one owner. Return an empty dict if all of them are empty."""
    known = [expected for expected in estimates if expected]
    if not known:
        return {}
    total = {
        name: sum(expected[name] for expected in known) for name in ("calls", "prompt_tokens", "completion_tokens")
    }
    cost = str(sum(Decimal(expected["cost"]) for expected in known)) if known[0]["cost"] else None
    return {**total, "cost": cost, "currency": known[0]["currency"]}


def _size(messages: QuerySet[Message]) -> tuple[int, int]:
    """Return the number of messages and their tokens."""
    size = Func(F("swipes__mes"), function="octet_length")
    found = messages.filter(swipes__position=F("swipe_id")).order_by().aggregate(count=Count("pk"), size=Sum(size))
    return found["count"], ceil((found["size"] or 0) / BYTES_PER_TOKEN)


def _total(
    chat: Chat, settings: Settings, reader: tuple[GenerationBackend, str], count: int, tokens: int
) -> dict[str, Any]:
    backend, plan = reader
    windows = max(ceil(count / settings.chunk), ceil(tokens / (settings.chunk_share * backend.context_tokens)))
    closing = 1 + len(learners(chat))
    if plan == ReadingPlan.SMALL:
        closing = 0  # the built-in reader does the rest
        calls = max(ceil(count / MAX_MESSAGES), ceil(tokens / MAX_TOKENS)) * len(learners(chat))
        prompt_tokens = tokens * len(learners(chat)) + calls * PLAIN_TOKENS
    elif plan == ReadingPlan.ONE:
        calls = 2 * windows + closing
        prompt_tokens = tokens + windows * (READING_TOKENS + REVIEW_TOKENS)
    else:
        calls = len(READING_TIERS) * windows + closing
        prompt_tokens = len(READING_TIERS) * (tokens + windows * READING_TOKENS)
    prompt_tokens += closing * CLOSING_TOKENS
    completion_tokens = calls * (PLAIN_REPLY_TOKENS if plan == ReadingPlan.SMALL else REPLY_TOKENS)
    return {
        "calls": calls,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        **_cost(chat, prompt_tokens, completion_tokens),
    }


def _cost(chat: Chat, prompt_tokens: int, completion_tokens: int) -> dict[str, str | None]:
    """Return the cost by the prices of the connection in use, as a decimal, with its currency; None without prices."""
    connection = generation_connection(chat.owner_id)
    cost = connection.cost_of(prompt_tokens, completion_tokens) if connection else None
    if connection is None or cost is None:
        return {"cost": None, "currency": None}
    return {"cost": str(max(cost.quantize(MONEY), MONEY)), "currency": connection.currency}
