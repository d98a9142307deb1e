"""Select messages around a window, as far as a model's context has room."""

from collections.abc import Mapping

from apps.chats.models import Chat, Message
from apps.llm.tokens import count_tokens


def messages_between(chat: Chat, first: int, last: int, most: int = 400) -> list[Message]:
    """Return the newest ``most`` messages from index ``first`` to ``last``, inclusive, in order."""
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__gte=max(first, last - most + 1))
    return list(rows.filter(index__lte=last).with_swipes().order_by("index"))


def within_room(turns: Mapping[int, Message], room: float) -> dict[int, Message]:
    """Return the newest turns that have at most ``room`` tokens together, in order; at least one."""
    kept: dict[int, Message] = {}
    for number, turn in reversed(list(turns.items())):
        room -= count_tokens(turn.mes)
        if kept and room < 0:
            break
        kept[number] = turn
    return dict(reversed(list(kept.items())))
