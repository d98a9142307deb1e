"""A call of the upstream, and how its reply is stored and its tokens are counted."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, connections

from apps.common.database.errors import is_connection_lost, is_rolled_back, is_row_gone, unavailable_after
from apps.common.database.restriction import restricted_to
from apps.common.problems import Problem
from apps.llm.http.endpoint import CallPolicy
from apps.llm.operations import record_usage
from apps.llm.tokens import count_tokens
from apps.proxy.collected_replies import CollectedReply
from apps.proxy.operations.replies import store_reply
from apps.proxy.operations.requests import StoredRequest
from apps.proxy.requests.turns import text_of
from apps.replies.tools.toolbox import Toolbox

logger = structlog.get_logger(__name__)

# Seconds between the attempts to store a reply. A restart of Postgres takes some seconds.
STORING_PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0)


@dataclass
class Spent:
    """Tokens of the requests before the last one of a reply."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, prompt_tokens: int, completion_tokens: int) -> None:
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens

    def added_to(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """Return the usage that a client is told: that of the last request with these."""
        own = {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens}
        own["total_tokens"] = sum(own.values())
        return {name: value + own.get(name, 0) if type(value) is int else value for name, value in usage.items()}


@dataclass(frozen=True)
class UpstreamCall:
    """A request to send, and where its reply is stored: None for a side call. ``memory`` is on, off or failed.

    With a ``toolbox``, the model may look things up before it answers, which is ``spent`` before its reply.
    """

    owner_id: UUID
    policy: CallPolicy
    url: str
    body: dict[str, Any]
    stored: StoredRequest | None = None
    memory: str = "off"
    toolbox: Toolbox | None = None
    spent: Spent = field(default_factory=Spent)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the response to the client."""
        return {"X-Loci-Memory": self.memory} | ({"X-Loci-Chat": str(self.stored.chat.pk)} if self.stored else {})


def finish_call(call: UpstreamCall, reply: CollectedReply) -> None:
    """Store a reply, and count its tokens. Store nothing if the chat was deleted in the meantime.

    If the client has gone away, the request has ended by then, and with it what it could see.
    """
    with restricted_to(call.owner_id):
        _finish(call, reply)


def _finish(call: UpstreamCall, reply: CollectedReply) -> None:
    received = bool(reply.text or reply.tools)
    if received and call.stored is not None:
        _store(call.stored, reply)
    if received or reply.prompt_tokens is not None or call.spent.prompt_tokens:
        # What the client was told has what was spent before.
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        if prompt is None:
            prompt = sum(count_tokens(text_of(message)) for message in call.body["messages"])
            prompt += call.spent.prompt_tokens
        if completion is None:
            completion = count_tokens(reply.text) + call.spent.completion_tokens
        record_usage(call.owner_id, call.body["model"], prompt, completion)


def _store(stored: StoredRequest, reply: CollectedReply) -> None:
    """Store a reply. Repeat it after errors of the database for some seconds: the client can't send it again.

    A reply that is stored already is stored once.
    """
    for pause in (*STORING_PAUSES, None):
        try:
            store_reply(stored, reply)
        except Problem as problem:
            logger.warning("a reply is not stored", chat_id=str(stored.chat.pk), reason=problem.detail)
            return
        except (DatabaseError, InterfaceError) as error:
            is_temporary = is_rolled_back(error) or is_row_gone(error) or unavailable_after(error)
            if pause is None or not is_temporary:
                raise
            if is_connection_lost(error):
                connections.close_all()
            time.sleep(pause)
        else:
            return
