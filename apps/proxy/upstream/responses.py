"""Open a response of the upstream, and read one that is no stream."""

from dataclasses import dataclass
from typing import Any

import httpx2

from apps.llm.http.endpoint import MAX_ERROR_BYTES
from apps.llm.replies.documents import NoDocument, documents
from apps.llm.replies.reply import MAX_BYTES
from apps.proxy.upstream.calls import UpstreamCall


class NoReply(Exception):
    """What the model server sent is no reply. The message says why."""


@dataclass(eq=False)
class ErrorReply(Exception):
    """The model server answered with an error. ``text`` is the beginning of its body."""

    status: int
    text: str
    retry_after: str = ""


async def opened(call: UpstreamCall, client: httpx2.AsyncClient, body: dict[str, Any]) -> httpx2.Response:
    """Send a body, and return the response once it begins. It ends with the client. Raise HTTPError."""
    return await client.send(client.build_request("POST", call.url, json=body), stream=True)


async def beginning(upstream: httpx2.Response) -> str:
    """Return the beginning of an error."""
    received = b""
    async for chunk in upstream.aiter_bytes():
        received += chunk
        if len(received) >= MAX_ERROR_BYTES:
            break
    return received[:MAX_ERROR_BYTES].decode("utf-8", "replace")


async def error_reply(upstream: httpx2.Response) -> ErrorReply:
    """Return the error that a response is, to be raised. Raise HTTPError."""
    return ErrorReply(upstream.status_code, await beginning(upstream), upstream.headers.get("Retry-After", ""))


def is_event_stream(upstream: httpx2.Response) -> bool:
    """Return whether a response says that it is a stream of events."""
    return "event-stream" in upstream.headers.get("content-type", "").lower()


async def whole_reply(upstream: httpx2.Response) -> bytes:
    """Return a reply that is no stream once all of it is here: the status can still tell what is wrong with it.

    Raise NoReply, TimeoutException.
    """
    received = bytearray()
    try:
        async for chunk in upstream.aiter_bytes():
            received += chunk
            if len(received) > MAX_BYTES:
                raise NoReply("The reply of the model server is too large.")
    except httpx2.TimeoutException:
        raise
    except httpx2.HTTPError as error:
        raise NoReply("The model server broke off.") from error
    try:
        list(documents([bytes(received)]))
    except NoDocument as error:
        raise NoReply(f"The model server answered with no JSON, but with: {error}") from error
    return bytes(received)
