"""The conversation of a prompt: the newest messages within a token budget."""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from apps.chats.models import Character, Chat
from apps.common.problems import Invalid
from apps.common.stored_texts import gettext_stored
from apps.prompts.filling.fitting import CountFunction
from apps.prompts.turns import UserTurn, spoken_turns_newest_first


class HistoryItem(NamedTuple):
    """A message of a prompt, its tokens, and its id, None for a turn that is not yet sent."""

    message: dict[str, str]
    tokens: int
    id: UUID | None


class History:
    """The turn, if it is unsent, and the visible messages of its chat but ``skipped``; a prompt has the newest.

    In a group, only those that the character witnessed. They are read and counted once, and no further than asked for.
    """

    def __init__(
        self, turn: UserTurn, count: CountFunction, *, character: Character | None = None, skipped: int = 0
    ) -> None:
        self._count = count
        self._unread = _newest_first(turn, character, skipped)
        self._items: list[HistoryItem] = []

    def newest_tokens(self) -> int:
        """Return the tokens of the newest message, without which there is no prompt."""
        return next((item.tokens for item in self._newest_first()), 0)

    def within(self, budget: int) -> list[dict[str, str]]:
        """Return the newest messages, oldest first, with at most ``budget`` tokens together.

        Raise Invalid if the newest one alone has more.
        """
        if self.newest_tokens() > budget:
            detail = gettext_stored(
                "The last message alone has %(tokens)s tokens, and the rest of the prompt leaves it %(budget)s.",
                tokens=self.newest_tokens(),
                budget=max(budget, 0),
            )
            raise Invalid.at("/context_tokens", detail)
        return [item.message for item in self._fitting(budget)][::-1]

    def ids_within(self, budget: int) -> set[UUID]:
        """Return the ids of the newest messages with at most ``budget`` tokens together."""
        return {item.id for item in self._fitting(budget) if item.id}

    def _fitting(self, budget: int) -> Iterator[HistoryItem]:
        for item in self._newest_first():
            budget -= item.tokens
            if budget < 0:
                return
            yield item

    def _newest_first(self) -> Iterator[HistoryItem]:
        yield from self._items
        for message, pk in self._unread:
            item = HistoryItem(message, self._count(message["content"]), pk)
            self._items.append(item)
            yield item


def _newest_first(
    turn: UserTurn, character: Character | None, skipped: int
) -> Iterator[tuple[dict[str, str], UUID | None]]:
    """Yield the turn, if it is unsent, and then the visible messages of the chat with their ids, newest first.

    Blank ones are left out: servers refuse a request with a message that says nothing.
    """
    chat = turn.chat
    if turn.message is None and turn.text.strip():
        yield {"role": "user", "content": _spoken(chat, chat.user_name, turn.text)}, None
    count = turn.index + 1 if turn.message else 0
    for message in spoken_turns_newest_first(chat, character, skipped=skipped, count=count):
        if not message.mes.strip():
            continue
        content = _spoken(chat, message.name, message.mes)
        yield {"role": "user" if message.is_user else "assistant", "content": content}, message.id


def _spoken(chat: Chat, name: str, text: str) -> str:
    """Return the text of a message, in a group after the speaker's name: a role doesn't tell who of them speaks."""
    return f"{name}: {text}" if chat.is_group and name else text
