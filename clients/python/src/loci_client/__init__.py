"""Reads and writes the chats of a Loci server.

``Loci`` and ``AsyncLoci`` offer the calls of the HTTP contract. Their ``session(chat_id)`` keeps in step with one
chat: what is written through it is stored exactly once, over lost replies and over what others write meanwhile.
"""

from loci_client.asynchronous import AsyncChatSession, AsyncLoci
from loci_client.blocking import ChatSession, Loci
from loci_client.errors import (
    Clash,
    ConflictError,
    EditConflict,
    Forbidden,
    Gone,
    IntegrityConflict,
    IntegrityRequired,
    Invalid,
    KeyReused,
    LociError,
    NotFound,
    NothingToUndo,
    ProblemError,
    ServerError,
    Throttled,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownMessage,
    UnreadableReply,
)
from loci_client.retries import RetryPolicy
from loci_client.state import ChatState

__all__ = [
    "AsyncChatSession",
    "AsyncLoci",
    "ChatSession",
    "ChatState",
    "Clash",
    "ConflictError",
    "EditConflict",
    "Forbidden",
    "Gone",
    "IntegrityConflict",
    "IntegrityRequired",
    "Invalid",
    "KeyReused",
    "Loci",
    "LociError",
    "NotFound",
    "NothingToUndo",
    "ProblemError",
    "RetryPolicy",
    "ServerError",
    "Throttled",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "UnknownMessage",
    "UnreadableReply",
]
