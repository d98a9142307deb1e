"""Read the reply of the model from the bytes that were passed on. Nothing here reads or writes the database."""

from dataclasses import dataclass
from typing import Any

from apps.llm.generation import GenerationFailed
from apps.llm.replies.openai_deltas import delta_of
from apps.llm.replies.reply import MAX_BYTES, Reply


@dataclass(frozen=True)
class CollectedReply:
    """The first choice of a reply.

    ``is_partial``: it ended before the model had finished. Token counts are None if unknown.
    """

    text: str
    tools: tuple[dict[str, Any], ...] = ()
    is_partial: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def collected_reply(body: bytes) -> CollectedReply:
    """Return the reply in a body, which is one JSON document or server-sent events, perhaps cut off.

    It is read as a reply that Loci itself asks for, but to its end: the client has all of it.
    """
    reply = Reply(max_characters=MAX_BYTES)
    is_partial = False
    try:
        reply.read([body[:MAX_BYTES]], delta_of)
    except GenerationFailed:
        is_partial = True
    return CollectedReply(reply.text, reply.tools.whole(), is_partial, reply.prompt_tokens, reply.completion_tokens)
