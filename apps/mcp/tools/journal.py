"""Tools about the journal."""

from apps.mcp.calls import Api
from apps.mcp.tools.definitions import (
    CURSOR,
    Arguments,
    Definition,
    Schema,
    choice,
    cursor_of,
    integer,
    present,
    shortened,
    text,
)

LEVELS = ["daily", "weekly", "monthly", "yearly", "significant"]
CONSOLIDATED = ["weekly", "monthly", "yearly"]
DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
MAX_ENTRY = 4000  # characters


async def read(api: Api, arguments: Arguments) -> Schema:
    page = await api.get("journal/", **{"limit": 7, **arguments})
    return {"entries": [brief(entry) for entry in page["results"]]} | present(cursor=cursor_of(page))


def brief(entry: Schema) -> Schema:
    """Return what a model needs of an entry of the journal."""
    fields = {"id": entry["id"], "granularity": entry["granularity"], "period": entry["period"]}
    names = present(title=entry["title"], instance=entry["instance"])
    return fields | names | {"text": shortened(entry["text"], MAX_ENTRY)}


async def consolidate(api: Api, arguments: Arguments) -> Schema:
    return dict(await api.post("journal/consolidate/", arguments))


TOOLS = [
    Definition(
        "journal_read",
        "Read the journal",
        "Read the journal: what happened on a day, in a week, month or year, over all chats. Call it when the user "
        "asks about a time ('last week', 'in May'), or to know what has been going on lately. For a long time read "
        "months or years first, then single days.",
        read,
        {
            "granularity": choice("Which entries; all if it is left out.", LEVELS),
            "from": text("Only periods that end on this day or later, such as 2026-11-21.", pattern=DAY),
            "to": text("Only periods that begin on this day or earlier.", pattern=DAY),
            "instance": text("Only what this instance has written.", maxLength=100),
            "limit": integer("How many, the latest first; 7 if it is left out.", minimum=1, maximum=50),
            "cursor": CURSOR,
        },
        reads=True,
    ),
    Definition(
        "memory_consolidate",
        "Consolidate the journal",
        "Have days put together into weeks, months and years: all that is due, or one period. Loci does it by itself "
        "each night; call it only if the user asks, or if journal_read shows that a period that is over is missing.",
        consolidate,
        {
            "granularity": choice("Only this level; needed with a period.", CONSOLIDATED),
            "period": text("Such as 2026-W47, 2026-11 or 2026.", minLength=4, maxLength=10),
        },
        repeats_safely=True,
    ),
]
