"""The client for asyncio."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, suppress
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from loci_client import calls, chat_calls, memory_calls
from loci_client.core import SessionCore
from loci_client.errors import PASSING, error_of
from loci_client.events import EventParser, concerns
from loci_client.exchange import EVENTS_TIMEOUT, POLL_EVERY, address, arguments, events_request, reply_of
from loci_client.requests import Flow, Request
from loci_client.retries import Outcome, RetryPolicy, retried
from loci_client.state import ChatState
from loci_client.types import Change, Chat

P = ParamSpec("P")
T = TypeVar("T")


def _call(flow: Callable[P, Flow[T]]) -> Callable[Concatenate["AsyncLoci", P], Coroutine[Any, Any, T]]:
    @wraps(flow)
    async def call(loci: "AsyncLoci", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await loci.run(flow(*args, **kwargs))

    return call


class AsyncLoci:
    """A client of the Loci server at ``base_url`` that authenticates with an API token. Tasks may share it.

    ``http``: the HTTP client to use, such as one with proxies or certificates. It is closed with this client.
    """

    def __init__(
        self, base_url: str, token: str, *, retry: RetryPolicy | None = None, http: httpx.AsyncClient | None = None
    ) -> None:
        self.policy = retry or RetryPolicy()
        self._base = address(base_url)
        self._token = token
        self._http = http or httpx.AsyncClient()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    list_chats = _call(calls.list_chats)
    create_chat = _call(calls.create_chat)
    get_chat = _call(calls.get_chat)
    update_chat = _call(calls.update_chat)
    delete_chat = _call(calls.delete_chat)
    get_messages = _call(calls.get_messages)
    branch_chat = _call(calls.branch_chat)
    import_chat = _call(calls.import_chat)
    append = _call(calls.append)
    patch = _call(calls.patch)
    patch_metadata = _call(calls.patch_metadata)
    operate_on_metadata = _call(calls.operate_on_metadata)
    get_changes = _call(calls.get_changes)
    get_tombstones = _call(calls.get_tombstones)
    undo = _call(calls.undo)
    get_data = _call(calls.get_data)
    patch_data = _call(calls.patch_data)
    get_value = _call(calls.get_value)
    put_value = _call(calls.put_value)
    delete_value = _call(calls.delete_value)
    get_recap = _call(calls.get_recap)
    put_recap = _call(calls.put_recap)
    delete_recap = _call(calls.delete_recap)
    get_settings = _call(calls.get_settings)
    patch_settings = _call(calls.patch_settings)
    search_memories = _call(calls.search_memories)
    get_graph = _call(calls.get_graph)
    assemble_prompt = _call(calls.assemble_prompt)
    get_recalls = _call(chat_calls.get_recalls)
    get_recall = _call(chat_calls.get_recall)
    edit_recall = _call(chat_calls.edit_recall)
    delete_recall = _call(chat_calls.delete_recall)
    rerun_recall = _call(chat_calls.rerun_recall)
    get_scenes = _call(chat_calls.get_scenes)
    end_scene = _call(chat_calls.end_scene)
    change_scene = _call(chat_calls.change_scene)
    remove_scene = _call(chat_calls.remove_scene)
    get_snapshots = _call(chat_calls.get_snapshots)
    get_snapshot = _call(chat_calls.get_snapshot)
    take_snapshot = _call(chat_calls.take_snapshot)
    restore_snapshot = _call(chat_calls.restore_snapshot)
    get_restore = _call(chat_calls.get_restore)
    delete_snapshot = _call(chat_calls.delete_snapshot)
    create_memory = _call(memory_calls.create_memory)
    list_memories = _call(memory_calls.list_memories)
    get_memory = _call(memory_calls.get_memory)
    update_memory = _call(memory_calls.update_memory)
    delete_memory = _call(memory_calls.delete_memory)
    memory_history = _call(memory_calls.memory_history)
    list_journal = _call(memory_calls.list_journal)
    get_entry = _call(memory_calls.get_entry)
    write_entry = _call(memory_calls.write_entry)
    update_entry = _call(memory_calls.update_entry)
    delete_entry = _call(memory_calls.delete_entry)
    consolidate_journal = _call(memory_calls.consolidate_journal)

    async def chats(self, *, q: str | None = None, character: str | None = None) -> AsyncGenerator[Chat, None]:
        """Yield all chats, newest activity first. Reads them page by page."""
        page = await self.list_chats(q=q, character=character)
        while True:
            for chat in page["results"]:
                yield chat
            if not page["next"]:
                return
            page = await self.run(calls.next_chats(page))

    def export_chat(self, chat_id: str, format: str = "jsonl") -> AsyncGenerator[bytes, None]:
        """Yield the chat as a file, in chunks of bytes. Raise httpx.TransportError if the connection is lost."""
        return self._download(calls.export_request(chat_id, format))

    def download_snapshot(self, snapshot_id: str) -> AsyncGenerator[bytes, None]:
        """Yield the archive of a snapshot, in chunks of bytes. Raise httpx.TransportError if the connection is lost."""
        return self._download(chat_calls.download_request(snapshot_id))

    async def _download(self, file: Request) -> AsyncGenerator[bytes, None]:
        request = arguments(file, self._base, self._token)
        request["headers"]["Accept"] = "*/*"
        async with self._http.stream(**request) as response:
            if response.status_code != httpx.codes.OK:
                await response.aread()
                raise error_of(reply_of(response))
            async for piece in response.aiter_bytes():
                yield piece

    def session(self, chat_id: str, *, replica: bool = False) -> "AsyncChatSession":
        """Return a session that follows one chat. With ``replica`` it keeps a copy of all messages."""
        return AsyncChatSession(self, chat_id, replica=replica)

    async def run(self, flow: Flow[T]) -> T:
        """Send the requests of a flow, with retries. Return its result."""
        steps = retried(flow, self.policy)
        try:
            request = next(steps)
            while True:
                request = steps.send(await self._exchange(request))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _exchange(self, request: Request) -> Outcome:
        await asyncio.sleep(request.after)
        try:
            return reply_of(await self._http.request(**arguments(request, self._base, self._token)))
        except httpx.TransportError as error:
            return error

    async def words(self, chat_id: str) -> AsyncGenerator[bool, None]:
        """Open the stream of events. Yield True at its start and for each write to the chat, False for other data.

        It starts with its first data, not with the headers: the server may not listen for writes before.
        Ends when the stream ends, or immediately if the server offers none.
        """
        request = arguments(events_request(chat_id), self._base, self._token) | {"timeout": EVENTS_TIMEOUT}
        parser = EventParser()
        with suppress(httpx.TransportError):
            async with self._http.stream(**request) as response:
                if response.status_code != httpx.codes.OK:
                    return
                starts = True
                async for text in response.aiter_text():
                    told = [concerns(event, chat_id) for event in parser.feed(text)]
                    yield starts or any(told)
                    starts = False


def _locked(
    method: Callable[Concatenate[SessionCore, P], Flow[T]],
) -> Callable[Concatenate["AsyncChatSession", P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def call(session: "AsyncChatSession", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await session.run(method(session.core, *args, **kwargs))

    return call


class AsyncChatSession:
    """Follow and write one chat. Sends one write at a time and stores each exactly once. Tasks may share it."""

    def __init__(self, loci: AsyncLoci, chat_id: str, *, replica: bool = False) -> None:
        self.core = SessionCore(chat_id, loci.policy, replica=replica)
        self._loci = loci
        self._lock = asyncio.Lock()

    load = _locked(SessionCore.load)
    append = _locked(SessionCore.append)
    edit = _locked(SessionCore.edit)
    change = _locked(SessionCore.change)
    set_data = _locked(SessionCore.set_data)
    move_data = _locked(SessionCore.move_data)
    delete = _locked(SessionCore.delete)
    patch = _locked(SessionCore.patch)
    patch_metadata = _locked(SessionCore.patch_metadata)
    operate_on_metadata = _locked(SessionCore.operate_on_metadata)
    undo = _locked(SessionCore.undo)
    branch = _locked(SessionCore.branch)

    @property
    def state(self) -> ChatState:
        """Return the state as of the last reply: integrity, rev, metadata and, with a replica, messages.

        States are immutable. Raise LociError before ``load()`` or the first write that loads the chat.
        """
        return self.core.known

    async def watch(self, *, poll_every: float = POLL_EVERY) -> AsyncGenerator[Change, None]:
        """Yield the changes that others make from now on, until cancelled or closed.

        Poll every ``poll_every`` seconds if the server sends no events.
        """
        since = (self.core.state or await self.load()).integrity
        while True:
            async with aclosing(self._loci.words(self.core.chat_id)) as words:
                async for is_written in words:
                    changes, since = await self._news(since) if is_written else ([], since)
                    for change in changes:
                        yield change
            await asyncio.sleep(poll_every)
            changes, since = await self._news(since)
            for change in changes:
                yield change

    async def _news(self, since: str) -> tuple[list[Change], str]:
        try:
            return await self.run(self.core.news(since))
        except PASSING:
            return [], since

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow after those that are running. Return its result."""
        async with self._lock:
            return await self._loci.run(flow)
