"""An instance of an assistant that shares its memory with others."""

import asyncio
import os
import threading
from typing import Any

from loci_client import calls
from loci_client.asynchronous import AsyncLoci
from loci_client.blocking import Loci
from loci_client.instance_core import InstanceCore


class Instance(InstanceCore):
    """Remembers locally, also offline, and syncs by ``pull`` and ``push``.

    ``path`` is a JSON file that keeps the local copy and what is not yet pushed; one process uses it at a time.
    Without one, they last as long as the object.
    """

    def __init__(self, loci: Loci, name: str, path: str | os.PathLike[str] | None = None) -> None:
        super().__init__(name, path)
        self._loci = loci
        self._lock = threading.Lock()

    def register(self, *, type: str = "", name: str = "", priority: int = 0) -> None:
        """Register the instance, unless it is registered."""
        self._loci.run(self._registering(type=type, name=name, priority=priority))

    def pull(self) -> None:
        """Take over what others have changed since the last pull."""
        with self._lock:
            self._loci.run(self._pulling())

    def push(self) -> list[dict[str, Any]]:
        """Push what was written here. Return what lost, or was merged, with the reasons.

        After a failure push again: what the server has stored already changes nothing.
        """
        with self._lock:
            return self._loci.run(self._pushing())

    def status(self) -> dict[str, Any]:
        """Return the instances, their clocks and how many conflicts are open."""
        return self._loci.run(calls.sync_status())


class AsyncInstance(InstanceCore):
    """``Instance`` for asyncio. What asks the server is awaited; writes are local, and are not."""

    def __init__(self, loci: AsyncLoci, name: str, path: str | os.PathLike[str] | None = None) -> None:
        super().__init__(name, path)
        self._loci = loci
        self._lock = asyncio.Lock()

    async def register(self, *, type: str = "", name: str = "", priority: int = 0) -> None:
        """Register the instance, unless it is registered."""
        await self._loci.run(self._registering(type=type, name=name, priority=priority))

    async def pull(self) -> None:
        """Take over what others have changed since the last pull."""
        async with self._lock:
            await self._loci.run(self._pulling())

    async def push(self) -> list[dict[str, Any]]:
        """Push what was written here, as ``Instance.push`` does. What is written meanwhile is for the next push."""
        async with self._lock:
            return await self._loci.run(self._pushing())

    async def status(self) -> dict[str, Any]:
        """Return the instances, their clocks and how many conflicts are open."""
        return await self._loci.run(calls.sync_status())
