"""Call the upstream and pass its reply on as it arrives. No database connection is held during the call."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx2
import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from apps.common.database.connections import in_database
from apps.common.http.request_logging import log_upstream_error
from apps.llm.http.addresses import AddressNotAllowed
from apps.llm.http.async_transport import async_client
from apps.llm.replies.reply import MAX_BYTES
from apps.proxy.collected_replies import CollectedReply, collected_reply
from apps.proxy.errors import openai_error, upstream_error
from apps.proxy.upstream.calls import UpstreamCall, finish_call
from apps.proxy.upstream.responses import ErrorReply, NoReply, error_reply, opened, whole_reply
from apps.proxy.upstream.tool_rounds import ToolRounds

MODEL_SERVER = "model-server"
logger = structlog.get_logger(__name__)
_storing: set[asyncio.Task[None]] = set()  # the event loop itself holds tasks weakly


async def relayed_reply(call: UpstreamCall, request: HttpRequest) -> HttpResponseBase:
    """Call the upstream. Return its reply as a stream, or its error, which is logged as one of the upstream."""
    try:
        response = await _reply_or_error(call)
    except AddressNotAllowed as error:
        return openai_error(400, str(error))
    if isinstance(response, HttpResponse):
        log_upstream_error(request, response, MODEL_SERVER)
        await _count_spent(call)
    return response


async def _reply_or_error(call: UpstreamCall) -> HttpResponseBase:
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(async_client(call.policy))
            rounds = ToolRounds(call, client, call.toolbox) if call.toolbox else None
            upstream = await (rounds.open() if rounds else opened(call, client, call.body))
            if not upstream.is_success:
                raise await error_reply(upstream)
            whole = b"" if _is_stream(call, upstream) else await whole_reply(upstream)
            if rounds:
                whole = await rounds.whole(whole) if whole else b""
            chunks = _at_once(whole) if whole else rounds.stream(upstream) if rounds else upstream.aiter_bytes()
        except ErrorReply as error:
            return upstream_error(error.status, call.policy.redacted(error.text), error.retry_after)
        except NoReply as error:
            return openai_error(502, call.policy.redacted(str(error)))
        except httpx2.TimeoutException:
            return openai_error(504, f"The model server was silent for {call.policy.timeout:g} seconds.")
        except httpx2.HTTPError:
            return openai_error(502, "The model server can't be reached.")
        return StreamingHttpResponse(
            RelayedReply(call, chunks, stack.pop_all(), whole),
            content_type=upstream.headers.get("content-type", "application/json"),
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


async def _count_spent(call: UpstreamCall) -> None:
    """Count what lookups have cost before an error, which stays what the client is told."""
    prompt, completion = call.spent.prompt_tokens, call.spent.completion_tokens
    if not prompt and not completion:
        return
    spent = CollectedReply("", prompt_tokens=prompt, completion_tokens=completion)
    try:
        await in_database(finish_call, call, spent, thread_sensitive=False)
    except Exception:
        logger.exception("the tokens of a call of the proxy are not counted")


def _is_stream(call: UpstreamCall, upstream: httpx2.Response) -> bool:
    """Return whether a reply is passed on as it comes: if a stream was asked for, or is what comes, but no web page."""
    kind = upstream.headers.get("content-type", "").lower()
    return "event-stream" in kind or (bool(call.body.get("stream")) and "html" not in kind)


async def _at_once(body: bytes) -> AsyncIterator[bytes]:
    yield body


class RelayedReply:
    """The bytes of a reply as they arrive. It is stored, whole or as far as it came, when the client has them.

    If the client goes away, the call of the upstream ends: nobody reads on, and its tokens cost. ``stack`` holds the
    connection. ``whole`` is a reply that has come already.
    """

    def __init__(
        self, call: UpstreamCall, chunks: AsyncIterator[bytes], stack: AsyncExitStack, whole: bytes = b""
    ) -> None:
        self._call = call
        self._chunks = chunks
        self._stack = stack
        self._whole = whole
        self._loop = asyncio.get_running_loop()
        self._is_begun = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._is_begun = True
        received = bytearray()
        try:
            async for chunk in self._chunks:
                if len(received) < MAX_BYTES:  # what follows is passed on, but not stored
                    received += chunk
                yield chunk
        except httpx2.HTTPError:
            logger.warning("the model server broke off", received=len(received))
            # The status was sent already. An error event is what SDKs raise an exception for.
            yield b'\n\ndata: {"error": {"message": "The model server broke off.", "type": "api_error"}}\n\n'
        finally:
            # A task of its own: the request's task is cancelled when the client goes away.
            await asyncio.shield(self._finish_soon(bytes(received)))

    def close(self) -> None:
        """End the call if nobody has read anything, since the client went away before the first byte.

        Django calls this, in another thread, when it closes the response.
        """
        if not self._is_begun:
            self._loop.call_soon_threadsafe(self._finish_soon, self._whole)

    def _finish_soon(self, received: bytes) -> asyncio.Task[None]:
        task = asyncio.create_task(_finish(self._call, received, self._stack))
        _storing.add(task)
        task.add_done_callback(_storing.discard)
        return task


async def _finish(call: UpstreamCall, received: bytes, stack: AsyncExitStack) -> None:
    """Store a reply. The client has all of it by then: an error must not break its response off."""
    try:
        try:
            await stack.aclose()
        finally:
            reply = collected_reply(received)
            await in_database(finish_call, call, reply, thread_sensitive=False)
    except Exception:
        logger.exception("a call of the proxy did not end well")
