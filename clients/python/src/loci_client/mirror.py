"""A local copy of a chat that is synced by hand."""

import asyncio
import os
import threading

from loci_client.asynchronous import AsyncLoci
from loci_client.blocking import Loci
from loci_client.mirror_core import MirrorCore


class Mirror(MirrorCore):
    """Read and write a chat locally, also offline. Nothing is sent or read but by ``pull`` and ``push``.

    ``path`` is a JSON file that keeps the local copy and what is not yet pushed; one process uses it at a time.
    Without one, they last as long as the object. Before the first ``pull`` there is nothing to read or to change.
    """

    def __init__(self, loci: Loci, chat_id: str, path: str | os.PathLike[str] | None = None) -> None:
        super().__init__(chat_id, loci.policy, path)
        self._loci = loci
        self._lock = threading.Lock()

    def pull(self) -> None:
        """Take over what others have written since the last pull or push. What is not yet pushed stays."""
        with self._lock:
            self._loci.run(self._pulling())

    def push(self) -> None:
        """Send what was written here, in its order.

        Raise EditConflict if another client changed the same: that write, and those behind it, still wait. Write what
        is right after ``discard``, and push again. After other failures push again: nothing is stored twice.
        """
        with self._lock:
            self._loci.run(self._pushing())


class AsyncMirror(MirrorCore):
    """``Mirror`` for asyncio. ``pull`` and ``push`` are awaited; writes are local, and are not."""

    def __init__(self, loci: AsyncLoci, chat_id: str, path: str | os.PathLike[str] | None = None) -> None:
        super().__init__(chat_id, loci.policy, path)
        self._loci = loci
        self._lock = asyncio.Lock()

    async def pull(self) -> None:
        """Take over what others have written, as ``Mirror.pull`` does."""
        async with self._lock:
            await self._loci.run(self._pulling())

    async def push(self) -> None:
        """Send what was written here, as ``Mirror.push`` does. What is written meanwhile is sent, too."""
        async with self._lock:
            await self._loci.run(self._pushing())
