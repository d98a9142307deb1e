"""Server-sent events for pages that run a model in the browser. The calls are polled: any process may queue one.

Beats are events, so that a page in the background answers them: browsers slow down its timers, not its streams.
"""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

from apps.common.database.connections import in_database
from apps.common.scoping import Owner
from apps.llm.browser.calls import claimable_calls, mark_page_open, release_calls

POLL_INTERVAL = 0.5  # seconds
POLLS_PER_BEAT = 10
BEATS_PER_STREAM = 60  # then the page opens another one, for which it must be signed in
RETRY = b"retry: 1000\n\n"
CALL = b"event: call\ndata: {}\n\n"
BEAT = b"event: beat\ndata: {}\n\n"


def events_now(owner: Owner) -> list[bytes]:
    """Return the events of this moment, for a server that can't hold streams open."""
    mark_page_open(owner)
    return [RETRY, BEAT, *([CALL] if claimable_calls(owner).exists() else [])]


async def stream(owner: Owner, page: UUID) -> AsyncIterator[bytes]:
    """Yield a beat every few seconds, and an event if calls wait. No database connection is held meanwhile."""
    yield RETRY
    told: UUID | None = None
    try:
        for poll in range(POLLS_PER_BEAT * BEATS_PER_STREAM):
            is_beat = poll % POLLS_PER_BEAT == 0
            first = await in_database(_look, owner, is_beat)
            if is_beat:
                yield BEAT
            if first is not None and (is_beat or first != told):
                yield CALL
            told = first
            await asyncio.sleep(POLL_INTERVAL)
    finally:
        await in_database(release_calls, owner, page)


def _look(owner: Owner, is_beat: bool) -> UUID | None:
    """Return the id of the next call or None, and record at each beat that the page is open."""
    if is_beat:
        mark_page_open(owner)
    return claimable_calls(owner).values_list("pk", flat=True).first()
