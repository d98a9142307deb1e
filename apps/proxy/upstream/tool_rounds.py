"""Let the model look things up while it answers a client, which sees one reply without calls and results."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2

from apps.common.database.connections import in_database
from apps.common.database.restriction import restricted_to
from apps.llm.generation import GenerationFailed
from apps.llm.replies.documents import error_message_from_text, parsed_json
from apps.llm.replies.openai_deltas import delta_of
from apps.llm.replies.reply import MAX_BYTES, Reply
from apps.llm.tokens import count_tokens
from apps.llm.values import first_text, token_count
from apps.proxy.requests.turns import text_of
from apps.proxy.upstream.calls import UpstreamCall
from apps.proxy.upstream.responses import beginning, error_reply, opened, whole_reply
from apps.replies.tools.rounds import joined, refuses_tools
from apps.replies.tools.toolbox import MAX_ROUNDS, Toolbox

DATA = b"data:"
DONE = "[DONE]"
REFUSALS = (400, 404, 413, 422)  # of a request, which another one may escape


@dataclass
class _Round:
    """One request and what it has brought so far. In the last one nothing can be called."""

    messages: list[dict[str, Any]]
    is_last: bool
    reply: Reply = field(default_factory=Reply)
    usage: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[dict[str, str], ...]:
        return () if self.is_last else self.reply.tools.whole()

    def read(self, document: dict[str, Any]) -> None:
        """Note the text, the calls and the usage in a document."""
        with suppress(GenerationFailed):
            delta = delta_of(document)
            self.reply.texts.append(delta.text)
            self.reply.tools.add(delta.tools)
        if isinstance(document.get("usage"), dict):
            self.usage = document["usage"]

    def tokens(self) -> tuple[int, int]:
        """Return what the round cost, counted here as far as the server tells nothing."""
        prompt, completion = (token_count(self.usage, name) for name in ("prompt_tokens", "completion_tokens"))
        if prompt is None:
            prompt = sum(count_tokens(text_of(message)) for message in self.messages)
        if completion is None:
            said = [self.reply.text, *(call["arguments"] for call in self.reply.tools.whole())]
            completion = sum(map(count_tokens, said))
        return prompt, completion


class ToolRounds:
    """The requests of one reply. What they cost is added to ``call.spent``, but for the last one's."""

    def __init__(self, call: UpstreamCall, client: httpx2.AsyncClient, toolbox: Toolbox) -> None:
        self._call = call
        self._client = client
        self._toolbox = toolbox
        self._round = _Round(call.body["messages"], is_last=False)
        self._said: list[str] = []  # in earlier rounds
        self._answered = 0
        self._id: Any = None

    async def open(self) -> httpx2.Response:
        """Open the first response; one without tools if the server refuses them."""
        upstream = await self._open()
        if not upstream.is_success and await self._refuses_tools(upstream):
            upstream = await self._open_last()
            if upstream.is_success:
                await in_database(self._toolbox.give_up, thread_sensitive=False)
        return upstream

    async def whole(self, body: bytes) -> bytes:
        """Return the reply that a whole response leads to. Raise ErrorReply, NoReply, HTTPError."""
        while isinstance(document := parsed_json(body.decode("utf-8", "replace")), dict):
            self._round.read(document)
            if not self._round.calls:
                return json.dumps(self._closed(document)).encode()
            upstream = await self._next()
            if not upstream.is_success:
                raise await error_reply(upstream)
            body = await whole_reply(upstream)
        return body

    async def stream(self, upstream: httpx2.Response) -> AsyncIterator[bytes]:
        """Yield the lines of a stream and of those that follow it, without calls. Raise HTTPError."""
        while True:
            async for line in _lines(upstream.aiter_bytes()):
                yield self._passed(line)
            if not self._round.calls:
                return
            await upstream.aclose()
            upstream = await self._next()
            if not upstream.is_success:
                yield DATA + await self._error(upstream) + b"\n\n"
                return

    async def _error(self, upstream: httpx2.Response) -> bytes:
        """Return an error of the upstream, whose status can't be passed on any more."""
        reason = error_message_from_text(self._call.policy.redacted(await beginning(upstream)))
        message = reason or f"The model server answered with {upstream.status_code}."
        return json.dumps({"error": {"message": message, "type": "api_error"}}).encode()

    async def _next(self) -> httpx2.Response:
        """Answer the calls of a round, and open the response to their results."""
        ended = self._round
        self._call.spent.add(*ended.tokens())
        self._said.append(ended.reply.text)
        self._answered += 1
        results = await in_database(self._answers, ended, thread_sensitive=False)
        if self._answered == MAX_ROUNDS:
            return await self._open_last()
        self._round = _Round([*ended.messages, *results], is_last=False)
        upstream = await self._open()
        if not upstream.is_success and await self._refuses_tools(upstream):
            return await self._open_last()
        return upstream

    def _answers(self, ended: _Round) -> list[dict[str, Any]]:
        with restricted_to(self._call.owner_id):
            return [dict(message) for message in self._toolbox.answer(ended.calls, ended.reply.text)]

    async def _open(self) -> httpx2.Response:
        body = {**self._call.body, "messages": self._round.messages}
        if not self._round.is_last:
            body["tools"] = self._toolbox.tools
        return await opened(self._call, self._client, body)

    async def _open_last(self) -> httpx2.Response:
        """Open the response to the client's messages with what was found: nothing can be called.

        If the server refuses them, as too long, open the response to the client's messages alone.
        """
        given = self._call.body["messages"]
        noted = [dict(message) for message in self._toolbox.note()]
        self._round = _Round([*given, *noted], is_last=True)
        upstream = await self._open()
        if noted and upstream.status_code in REFUSALS:
            await upstream.aclose()
            self._round = _Round(given, is_last=True)
            upstream = await self._open()
        return upstream

    async def _refuses_tools(self, upstream: httpx2.Response) -> bool:
        """Return whether an error may be about tools. The response is read then."""
        is_refused = upstream.status_code in REFUSALS
        return refuses_tools((await upstream.aread()).decode("utf-8", "replace"), is_refused=is_refused)

    def _passed(self, line: bytes) -> bytes:
        """Return what the client gets of a line."""
        name, data = (DATA, line[len(DATA) :]) if line.startswith(DATA) else (b"", line)
        text = data.decode("utf-8", "replace").strip()
        document = parsed_json(text) if text.startswith("{") else None
        if not isinstance(document, dict) or "error" in document:
            return b"" if text == DONE and self._round.calls else line
        is_first = not "".join(self._round.reply.texts).strip()
        self._round.read(document)
        self._id = self._id or document.get("id")
        if self._round.calls and not any(_text_in(choice) for choice in _choices(document)):
            return b""
        closed = self._closed(document)
        for choice in _choices(closed):
            if is_first and "".join(self._said).strip() and (said := _text_in(choice).lstrip()):
                choice["delta"]["content"] = f"\n\n{said}"
        passed = {**closed, "id": self._id} if self._id else closed
        return name + b" " * bool(name) + json.dumps(passed).encode() + b"\n"

    def _closed(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a document without calls, and with what was said and spent before it."""
        for choice in _choices(document):
            if self._round.reply.tools.whole() and choice.get("finish_reason") == "tool_calls":
                choice["finish_reason"] = None if self._round.calls else "stop"
            for part in (choice.get("delta"), choice.get("message")):
                if isinstance(part, dict):
                    part.pop("tool_calls", None)
            message = choice.get("message")
            if isinstance(message, dict) and self._said:
                message["content"] = joined([*self._said, first_text(message, "content")])
        if isinstance(document.get("usage"), dict):
            document["usage"] = self._call.spent.added_to(document["usage"])
        return document


def _choices(document: dict[str, Any]) -> list[dict[str, Any]]:
    choices = document.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _text_in(choice: dict[str, Any]) -> str:
    """Return the text of a part of a choice."""
    return first_text(choice.get("delta"), "content")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield each line with its end as soon as it is complete. What is too long for a reply is yielded as it comes."""
    held = b""
    async for chunk in chunks:
        *complete, held = (held + chunk).split(b"\n")
        for line in complete:
            yield line + b"\n"
        if len(held) > MAX_BYTES:
            yield held
            held = b""
    if held:
        yield held
