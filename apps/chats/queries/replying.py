"""Whose model replies in a chat, how much it takes in, and how its tokens are counted."""

from collections.abc import Callable
from contextlib import suppress

from apps.chats.models import Chat
from apps.llm.generation import get_backend
from apps.llm.models import Connection
from apps.llm.queries import generation_connection
from apps.llm.tokens import token_counter


def reply_connection(chat: Chat) -> Connection | None:
    """Return the connection that the chat names, else the one that its owner uses for generation, or None.

    One that is named but has no model any more is not replaced: what the chat says is to go to no other server.
    """
    if chat.connection_id:
        with suppress(Connection.DoesNotExist):  # deleted since the chat was loaded: the chat names none any more
            return chat.connection if chat.connection and chat.connection.model else None
    return generation_connection(chat.owner_id)


def reply_context(chat: Chat) -> int:
    """Return how many tokens the model takes in; without one, the built-in backend."""
    connection = reply_connection(chat)
    return connection.context_tokens if connection else get_backend().context_tokens


def reply_model(chat: Chat) -> str:
    """Return the name of the model, or "" without one."""
    connection = reply_connection(chat)
    return connection.model if connection else ""


def reply_token_counter(chat: Chat) -> Callable[[str], int]:
    """Return the function that counts the tokens of a text for the model."""
    return token_counter(reply_model(chat))
