"""Resources: the memory book and the journal, as Markdown that a user can put into a conversation."""

import re
from itertools import groupby

from apps.mcp.calls import Api
from apps.mcp.tools.definitions import UUID_PATTERN, Schema
from apps.mcp.tools.journal import LEVELS

MEMORY_BOOK = "loci://memory-book"
JOURNAL = "loci://journal"
MEMORIES = 200  # of a memory book: the newest
ENTRIES = {"daily": 14, "weekly": 12, "monthly": 12, "yearly": 10, "significant": 50}
RESOURCES = [
    (MEMORY_BOOK, "Memory book", "What holds of all that is remembered, by kind; the newest 200 memories."),
    (JOURNAL, "Journal", "The last 14 days of the journal."),
]
TEMPLATES = [
    (MEMORY_BOOK + "/{chat}", "Memory book of a chat", "What holds of all that a chat knows."),
    (
        JOURNAL + "/{granularity}",
        "Journal by level",
        "The latest: daily, weekly, monthly, yearly or significant.",
    ),
]


class MissingResource(Exception):
    """There is no resource with this address."""


async def read(api: Api, uri: str) -> str:
    """Return the text of a resource. Raise MissingResource, Refused."""
    base, _, part = uri.removeprefix("loci://").partition("/")
    if uri.startswith("loci://") and base == "memory-book" and (not part or re.match(UUID_PATTERN, part)):
        return await _memory_book(api, part or None)
    if uri.startswith("loci://") and base == "journal" and (not part or part in LEVELS):
        return await _journal(api, part or "daily")
    raise MissingResource(uri)


async def _memory_book(api: Api, chat: str | None) -> str:
    if chat:
        await api.get(f"chats/{chat}/")  # a list of nobody's chat is empty: say that there is none
    page = await api.get("memories/", chat=chat, state="active", limit=MEMORIES)
    memories = sorted(page["results"], key=lambda memory: str(memory["kind"]))
    parts = [_section(kind, list(rows)) for kind, rows in groupby(memories, key=lambda memory: str(memory["kind"]))]
    return "\n\n".join(["# Memory book", *parts]) if parts else "# Memory book\n\nNothing is remembered yet."


def _section(kind: str, memories: list[Schema]) -> str:
    return "\n".join([f"## {kind.capitalize()}", "", *(f"- {memory['text']}" for memory in memories)])


async def _journal(api: Api, granularity: str) -> str:
    page = await api.get("journal/", granularity=granularity, limit=ENTRIES[granularity])
    parts = [f"## {entry['title'] or entry['period']}\n\n{entry['text']}" for entry in page["results"]]
    return "\n\n".join(["# Journal", *parts]) if parts else "# Journal\n\nNothing is written yet."
