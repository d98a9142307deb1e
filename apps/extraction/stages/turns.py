"""Select messages around a window, as many as fit into a prompt."""

from collections.abc import Mapping

from apps.chats.models import Chat, Message
from apps.llm.tokens import count_tokens


def messages_between(chat: Chat, first: int, last: int, limit: int = 400) -> list[Message]:
    """Return the newest ``limit`` messages from index ``first`` to ``last``, inclusive, in order."""
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__gte=max(first, last - limit + 1))
    return list(rows.filter(index__lte=last).with_swipes().order_by("index"))


def within_budget(turns: Mapping[int, Message], budget: float) -> dict[int, Message]:
    """Return the newest turns that have at most ``budget`` tokens together, in order; at least one."""
    kept: dict[int, Message] = {}
    for number, turn in reversed(list(turns.items())):
        budget -= count_tokens(turn.mes)
        if kept and budget < 0:
            break
        kept[number] = turn
    return dict(reversed(list(kept.items())))
