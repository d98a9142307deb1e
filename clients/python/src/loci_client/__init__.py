"""Read and write the chats of a Loci server.

``Loci`` and ``AsyncLoci`` offer the calls of the HTTP API. Their ``session(chat_id)`` follows one chat: its writes are
stored exactly once, even if replies are lost or other clients write at the same time.
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
    UndoConflict,
    UnknownMessage,
    UnreadableReply,
)
from loci_client.instance import AsyncInstance, Instance
from loci_client.mirror import AsyncMirror, Mirror
from loci_client.retries import RetryPolicy
from loci_client.state import ChatState

__all__ = [
    "AsyncChatSession",
    "AsyncInstance",
    "AsyncLoci",
    "AsyncMirror",
    "ChatSession",
    "ChatState",
    "Clash",
    "ConflictError",
    "EditConflict",
    "Forbidden",
    "Gone",
    "Instance",
    "IntegrityConflict",
    "IntegrityRequired",
    "Invalid",
    "KeyReused",
    "Loci",
    "LociError",
    "Mirror",
    "NotFound",
    "NothingToUndo",
    "ProblemError",
    "RetryPolicy",
    "ServerError",
    "Throttled",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "UndoConflict",
    "UnknownMessage",
    "UnreadableReply",
]
