"""Tools by which a program with a memory of its own keeps it equal to Loci's."""

from urllib.parse import urlencode

from apps.mcp.calls import Api
from apps.mcp.tools.definitions import (
    CURSOR,
    KEY,
    Arguments,
    Definition,
    Schema,
    integer,
    objects,
    text,
    without_key,
)

INSTANCE = text("Id of your instance, registered in Loci: small letters, digits, hyphens.", pattern="^[a-z0-9-]{1,64}$")
CLOCK = {"type": "object", "additionalProperties": {"type": "integer"}, "description": "A vector clock."}


async def pull(api: Api, arguments: Arguments) -> Schema:
    page = {"limit": 100} | {name: value for name, value in arguments.items() if name in ("limit", "cursor")}
    body = {name: value for name, value in arguments.items() if name not in page}
    return dict(await api.post("sync/pull/", body, query=urlencode(page)))


async def push(api: Api, arguments: Arguments) -> Schema:
    lists: Schema = {"identity": [], "memories": [], "tombstones": []}
    body = {**lists, **without_key(arguments)}
    return dict(await api.post("sync/push/", body, key=arguments.get("idempotency_key")))


async def status(api: Api, arguments: Arguments) -> Schema:
    return dict(await api.get("sync/status/"))


TOOLS = [
    Definition(
        "sync_pull",
        "Pull changes",
        "Get identity files, memories and deletions that are newer than a vector clock. For programs that keep a copy: "
        "call it at the start and before each push, not to look something up.",
        pull,
        {
            "instance": INSTANCE,
            "since": {**CLOCK, "description": "The clock of the last pull; left out, everything."},
            "limit": integer("Entries of a page; 100 if it is left out.", minimum=1, maximum=500),
            "cursor": CURSOR,
        },
        required=("instance",),
        reads=True,
    ),
    Definition(
        "sync_push",
        "Push changes",
        "Store what your instance has written and deleted, all or nothing. For programs that keep a copy: call it "
        "every few minutes if something has changed, and at the end. Newer versions replace older ones.",
        push,
        {
            "instance": INSTANCE,
            "clock": {**CLOCK, "description": "Your clock, in which only your own counter has grown."},
            "identity": objects("Files: category, filename, content, clock, instance, updated_at."),
            "memories": objects("Memories: id, tier, period, text, clock, instance, updated_at."),
            "tombstones": objects("Deletions: kind, id or category and filename, clock, instance, at."),
            "idempotency_key": KEY,
        },
        required=("instance", "clock"),
        destroys=True,
        repeats_safely=True,
    ),
    Definition(
        "sync_status",
        "State of the sync",
        "Show which instances share this memory, when each was last in contact, and how many conflicts wait for the "
        "user. Call it when a sync seems to be behind.",
        status,
        {},
        reads=True,
    ),
]
