"""Answer a model's calls of tools, with what the speaker of a reply may know, and tell it on the recall card."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import structlog
from django.core.cache import cache
from django.db import DatabaseError
from django.db.models import Subquery

from apps.chats.models import Character, Chat, Message
from apps.common.problems import Missing
from apps.llm.generation import PromptMessage
from apps.llm.models import Connection
from apps.memories.quotations import quotation
from apps.prompts.operations import store_lookups
from apps.prompts.retrieval.excerpts import excerpt_around
from apps.prompts.retrieval.service import search_related
from apps.prompts.settings.stores import prompt_settings_of
from apps.prompts.slots.blocks import one_line
from apps.prompts.turns import UserTurn, turn_from_message, visible_messages
from apps.prompts.witnessing import Viewpoint, speaker_or_default
from apps.replies.tools.definitions import SEARCH, TOOLS, BadCall, arguments_of
from apps.search.service import SearchResult

logger = structlog.get_logger(__name__)

MAX_ROUNDS = 3  # replies of calls that are answered, for one reply to the user
MAX_CALLS = 4  # of one reply that are answered
MAX_MESSAGE = 1500  # characters of a message that is read
MAX_TOLD = 200  # characters that the card shows of a query
CONTEXT_SHARE = 8  # an eighth of the context is for what is found
CHARACTERS_PER_TOKEN = 3
REFUSED_FOR = 3600  # seconds for which a model that refused tools is offered none
NOTHING = "Nothing is known about that."
NO_ROOM = "There is no room for more. Answer with what you have."
AGAIN = "You have asked that already. Answer with what you have."
UNAVAILABLE = "The memory can't be searched at the moment."
TOO_MANY = "These are too many calls at once."


class Toolbox:
    """Tools for the reply of ``character`` to a turn. ``found`` are the texts that were found so far, each once."""

    tools = TOOLS

    def __init__(self, connection: Connection, turn: UserTurn, character: Character | None) -> None:
        self._connection = connection
        self._turn = turn
        self._character = character
        self._room = room_for(connection) * CHARACTERS_PER_TOKEN
        self._asked: set[str] = set()
        self._lookups: list[dict[str, Any]] = []
        self.found: list[str] = []

    def answer(self, calls: Sequence[Mapping[str, str]], said: str = "") -> list[PromptMessage]:
        """Return the model's message with its calls, and the result of each. The recall of the turn tells them."""
        named = [{**call, "id": call["id"] or f"call_{len(self._asked)}_{place}"} for place, call in enumerate(calls)]
        results = [self._result(call) if place < MAX_CALLS else TOO_MANY for place, call in enumerate(named)]
        try:
            store_lookups(self._turn, self._lookups)
        except (Missing, DatabaseError):  # the turn was deleted meanwhile, or the card doesn't tell it
            logger.warning("a lookup is not stored", chat_id=str(self._turn.chat.pk))
        asked: PromptMessage = {"role": "assistant", "content": said, "tool_calls": list(map(_sent, named))}
        told: list[PromptMessage] = [
            {"role": "tool", "content": result, "tool_call_id": call["id"]}
            for call, result in zip(named, results, strict=True)
        ]
        return [asked, *told]

    def note(self) -> list[PromptMessage]:
        """Return what was found as a message, for a last request in which nothing can be called."""
        if not self.found:
            return []
        listed = "\n".join(self.found)
        return [{"role": "system", "content": f"What you looked up for this reply:\n{listed}"}]

    def give_up(self) -> None:
        """Note that the model takes no tools: it is offered none for a while."""
        cache.set(_refused_key(self._connection), True, REFUSED_FOR)

    def _result(self, call: Mapping[str, str]) -> str:
        try:
            arguments = arguments_of(call)
        except BadCall as error:
            return str(error)
        key = f"{call['name']} {sorted(arguments.items())}".casefold()
        if key in self._asked:
            return AGAIN
        self._asked.add(key)
        if self._room <= 0:
            return NO_ROOM
        try:
            lines = self._search(**arguments) if call["name"] == SEARCH else self._read(**arguments)
        except Exception:  # a reply without what it asked for is better than none, whatever failed
            logger.exception("a tool of the model failed", chat_id=str(self._turn.chat.pk))
            return UNAVAILABLE
        kept = self._fitted(lines)
        self._lookups.append({"tool": call["name"], **_told(arguments), "found": len(kept)})
        self.found += [line for line in kept if line not in self.found]
        return "\n".join(kept) or (NO_ROOM if lines else NOTHING)

    def _fitted(self, lines: Iterable[str]) -> list[str]:
        kept = []
        for line in lines:
            if len(line) > self._room:
                break
            self._room -= len(line)
            kept.append(line)
        return kept

    def _search(self, query: str) -> list[str]:
        # As for a turn with this text: what its speaker doesn't know, or mustn't be told, is not found.
        turn = replace(self._turn, text=query, message=None)
        secrets = Viewpoint(turn.chat, self._character).secrets(turn.knowledge)
        lines = [
            secrets.without(_line(result))
            for result in search_related(turn, self._character, (), is_asked=True).results
        ]
        return [line for line in lines if line]

    def _read(self, first: int, count: int) -> list[str]:
        last = min(first + count, self._turn.index) - 1
        rows = visible_messages(self._turn.chat).filter(index__range=(first, last)).order_by("index")
        view = Viewpoint(self._turn.chat, self._character)
        secrets = view.secrets(self._turn.knowledge)
        lines = [
            secrets.without(_quoted(message, message.mes[:MAX_MESSAGE])) for message in rows if view.has_heard(message)
        ]
        return [line for line in lines if line]


def are_offered(chat: Chat, connection: Connection) -> bool:
    """Return whether the chat's settings offer tools to the model.

    A model in the browser calls none, and one that has refused them is not asked again for a while.
    """
    if not prompt_settings_of(chat).memory_tools or connection.backend == Connection.Backend.BROWSER:
        return False
    return not cache.get(_refused_key(connection))


def toolbox_for(
    chat: Chat, connection: Connection, character: Character | None, *, anchor: UUID | None = None
) -> Toolbox | None:
    """Return the tools for a reply, by default to the last message, or None. What is looked up is told at its turn."""
    if not are_offered(chat, connection):
        return None
    turns = visible_messages(chat).filter(is_user=True)
    if anchor is not None:
        turns = turns.filter(
            index__lte=Subquery(Message.objects.for_owner(chat.owner_id).filter(pk=anchor).values("index"))
        )
    message = turns.order_by("-index").first()
    if message is None:
        return None
    turn = turn_from_message(chat, message)
    store_lookups(turn, [])
    return Toolbox(connection, turn, speaker_or_default(chat, character))


def room_for(connection: Connection) -> int:
    """Return how many tokens of the context are kept free for what a model looks up."""
    return connection.context_tokens // CONTEXT_SHARE


def _refused_key(connection: Connection) -> str:
    return f"no-tools-{connection.pk}-{connection.updated_at.timestamp()}"


def _line(result: SearchResult) -> str:
    if result.message is None:
        return f"- {one_line(result.text)}"
    return _quoted(result.message, excerpt_around(result.message.mes, result.matched_sentence))


def _quoted(message: Message, text: str) -> str:
    return f"- #{message.index} {one_line(quotation(message.name, text))}"


def _told(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[:MAX_TOLD] if isinstance(value, str) else value for name, value in arguments.items()}


def _sent(call: Mapping[str, str]) -> dict[str, Any]:
    """Return a call as it is sent back. Servers refuse arguments that are no JSON."""
    try:
        arguments_of(call)
        arguments = call["arguments"] or "{}"
    except BadCall:
        arguments = "{}"
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}
