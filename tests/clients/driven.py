"""An asynchronous client for tests that block, so that both clients pass the same ones."""

import inspect
from collections.abc import Iterator
from typing import Any

from anyio.from_thread import BlockingPortal
from loci_client import AsyncChatSession


class Driven:
    def __init__(self, portal: BlockingPortal, target: Any) -> None:
        self._portal = portal
        self._target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return self._blocking(found) if callable(found) else found

    def _blocking(self, method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._finished(self._portal.call(self._begin, method, args, kwargs))

        return call

    @staticmethod
    async def _begin(method: Any, args: Any, kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        return await result if inspect.iscoroutine(result) else result

    def _finished(self, result: Any) -> Any:
        if inspect.isasyncgen(result):
            return self._items(result)
        return Driven(self._portal, result) if isinstance(result, AsyncChatSession) else result

    def _items(self, items: Any) -> Iterator[Any]:
        try:
            while True:
                try:
                    yield self._portal.call(anext, items)
                except StopAsyncIteration:
                    return
        finally:
            self._portal.call(items.aclose)
