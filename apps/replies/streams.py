"""Server-sent events of a generation: its text as it comes, and its end.

The id of an event is the number of characters that it ends at, so that a client continues where it was. The row is
polled: it has new text about once a second, whichever process writes it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from apps.chats.pages.markup import render_text
from apps.common.database.connections import in_database
from apps.common.jobs import TERMINAL_STATES
from apps.common.scoping import Owner
from apps.replies.continuations import joint
from apps.replies.models import Generation
from apps.sync.live import notify

BULLET = re.compile(r"^ *\*\s", re.MULTILINE)
POLL_INTERVAL = 0.5  # seconds
BEATS = 30  # polls without text after which a comment is sent


def state_of(generation: Generation) -> str:
    """Return the state as the API names it: a cancelled generation was stopped."""
    return "stopped" if generation.state == Generation.State.CANCELLED else str(generation.state)


def notify_generation_changed(job: Generation, state: str, **kwargs: Any) -> None:
    """Receive ``job_changed`` of generations: notify clients when its transaction commits."""
    notify(job.owner_id, "reply", {"chat": str(job.chat_id), "generation": str(job.pk), "state": state})


def events_since(generation: Generation, position: int, *, with_html: bool = False) -> bytes:
    """Return the events after ``position`` characters: the new text and, if the generation has ended, its end.

    ``joint`` of a continuation stands between the message's text before and the new one, if anything does. ``html`` is
    the whole text so far, with the one before, as pages show it.
    """
    end = len(generation.text)
    events = b""
    if end > position:
        delta = {"text": generation.text[position:]}
        if space := joint(generation.prefix, generation.text):
            delta["joint"] = space
        if with_html:
            delta["html"] = render_text(closed(f"{generation.prefix}{space}{generation.text}"))
        events += _event("delta", end, delta)
    if generation.state in TERMINAL_STATES:
        name = "error" if generation.state == Generation.State.FAILED else "done"
        message = str(generation.message_id) if generation.message_id else None
        data = {"state": state_of(generation), "text": generation.text, "message": message, "error": generation.error}
        events += _event(name, end, data)
    return events


def closed(text: str) -> str:
    """Return a text that breaks off, with its emphasis ended: else the asterisk would be shown until the next one."""
    if BULLET.sub("", text.rpartition("\n\n")[2]).count("*") % 2 == 0:
        return text
    text = text.rstrip()
    return text.removesuffix("*") if text.endswith("*") else f"{text}*"


def _event(name: str, position: int, data: dict[str, Any]) -> bytes:
    return f"id: {position}\nevent: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


async def stream(owner: Owner, generation_id: UUID, position: int, *, with_html: bool = False) -> AsyncIterator[bytes]:
    """Yield events until the generation has ended or was deleted. No database connection is held meanwhile."""
    yield b"retry: 2000\n\n"
    silent = 0
    while generation := await in_database(_read, owner, generation_id):
        if events := events_since(generation, position, with_html=with_html):
            yield events
        elif silent % BEATS == BEATS - 1:
            yield b": beat\n\n"
        silent = 0 if events else silent + 1
        if generation.state in TERMINAL_STATES:
            return
        position = max(position, len(generation.text))
        await asyncio.sleep(POLL_INTERVAL)


def _read(owner: Owner, generation_id: UUID) -> Generation | None:
    generation: Generation | None = Generation.objects.for_owner(owner).filter(pk=generation_id).first()
    return generation
