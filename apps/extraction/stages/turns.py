"""Messages beside those of a window: what stood before them, as far as there is room."""

from collections.abc import Mapping

from apps.chats.models import Chat, Message
from apps.llm.tokens import count_tokens


def messages_between(chat: Chat, first: int, last: int, most: int = 400) -> list[Message]:
    """The messages from index ``first`` to ``last``, both included: the newest ``most`` of them, in order."""
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index__gte=max(first, last - most + 1))
    return list(rows.filter(index__lte=last).with_swipes().order_by("index"))


def within_room(turns: Mapping[int, Message], room: float) -> dict[int, Message]:
    """The newest of the turns that take at most ``room`` tokens together, in order; one at least."""
    kept: dict[int, Message] = {}
    for number, turn in reversed(list(turns.items())):
        room -= count_tokens(turn.mes)
        if kept and room < 0:
            break
        kept[number] = turn
    return dict(reversed(list(kept.items())))
