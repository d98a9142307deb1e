"""How much may be sent and stored, how often, and for how long it is kept."""

from config.env import env
from config.settings.installation import REACHED_BY_OTHERS
from config.variables import Group

REQUEST_MAX_BYTES = DATA_UPLOAD_MAX_MEMORY_SIZE = env.int(
    "REQUEST_MAX_BYTES",
    default=64 * 1024 * 1024,
    least=1024,
    group=Group.INSTALLATION,
    help="The largest request body that is accepted, in bytes, after decompression.",
)
REQUEST_MAX_VALUES = env.int(
    "REQUEST_MAX_VALUES",
    default=500_000,
    group=Group.INSTALLATION,
    help="How many values the JSON of a request may have: what it takes in memory depends on them more than on its "
    "bytes.",
)
IMPORT_MAX_BYTES = env.int(
    "IMPORT_MAX_BYTES",
    default=200 * 1024 * 1024,
    group=Group.INSTALLATION,
    help="The largest file that is imported, in bytes.",
)
SNAPSHOT_MAX_BYTES = env.int(
    "SNAPSHOT_MAX_BYTES",
    default=4 * 1024**3,
    group=Group.INSTALLATION,
    help="The largest snapshot that is restored, in bytes when unpacked. An uploaded one is limited by "
    "`IMPORT_MAX_BYTES` too.",
)
SNAPSHOTS_DAILY = env.int(
    "SNAPSHOTS_DAILY",
    default=7,
    group=Group.INSTALLATION,
    help="How many daily snapshots of an account are kept. They are made at 03:30 of accounts that changed since the "
    "last. 0 makes none.",
)
MESSAGE_DATA_MAX_BYTES = env.int(
    "MESSAGE_DATA_MAX_BYTES",
    default=256 * 1024,
    group=Group.INSTALLATION,
    help="How much one namespace of a message's data may hold, in bytes of JSON.",
)
CHAT_METADATA_MAX_BYTES = env.int(
    "CHAT_METADATA_MAX_BYTES",
    default=4 * 1024 * 1024,
    group=Group.INSTALLATION,
    help="How much the metadata of a chat may hold, in bytes of JSON. An import may bring more; they can then only "
    "shrink.",
)
SETTINGS_KEY_MAX_BYTES = env.int(
    "SETTINGS_KEY_MAX_BYTES",
    default=4 * 1024 * 1024,
    group=Group.INSTALLATION,
    help="How much one top-level key of a person's settings may hold, in bytes of JSON.",
)
SETTINGS_MAX_BYTES = env.int(
    "SETTINGS_MAX_BYTES",
    default=16 * 1024 * 1024,
    group=Group.INSTALLATION,
    help="How much a person's settings may hold, in bytes of JSON.",
)
IDEMPOTENCY_HOURS = env.int(
    "IDEMPOTENCY_HOURS",
    default=24,
    most=876_000,
    group=Group.INSTALLATION,
    help="For how long the reply to a write that carried an `Idempotency-Key` is kept, in hours. The key itself is "
    "kept for good, so that no retry is stored again; that takes some 300 bytes a write.",
)
CHANGE_LOG_DAYS = env.int(
    "CHANGE_LOG_DAYS",
    default=30,
    most=36_500,
    group=Group.INSTALLATION,
    help="For how long the writes to a chat, and to a person's settings, are kept in the log that clients catch up "
    "from and undo reads, in days.",
)
CHANGE_LOG_MIN = env.int(
    "CHANGE_LOG_MIN",
    default=1000,
    group=Group.INSTALLATION,
    help="How many of a chat's, or of the settings', last writes stay in the log whatever their age; the texts that "
    "they changed or deleted are removed all the same.",
)
SSE_MAX_PER_USER = env.int(
    "SSE_MAX_PER_USER",
    default=20,
    least=1,
    group=Group.INSTALLATION,
    help="How many event streams a person may have open; browsers need one each, whatever the tabs.",
)
SSE_HEARTBEAT = env.float(
    "SSE_HEARTBEAT",
    default=15.0,
    least=0.1,
    group=Group.INSTALLATION,
    help="After how many seconds without an event a stream sends a heartbeat, and checks whether its token or session "
    "still stands. Proxies must not close a connection sooner.",
)


def _rate(name: str, rate: str, help: str) -> str:
    """Return a rate of requests by user. On a machine of their own, users have no limit by default."""
    default = rate if REACHED_BY_OTHERS else ""
    return env.str(name, default=default, shown=f"`{rate}`; none on one machine", group=Group.LIMITS, help=help)


RATE_LIMITS = {
    "api": _rate("RATE_LIMIT_API", "1200/m", "Requests of a user that have no limit of their own below."),
    "search": _rate("RATE_LIMIT_SEARCH", "300/m", "Searches of memories by the API."),
    "generation": _rate(
        "RATE_LIMIT_GENERATION", "60/m", "Replies that are asked for, completions of the proxy, tests of connections."
    ),
    "imports": _rate("RATE_LIMIT_IMPORTS", "300/h", "Requests that import files."),
    "bodies": _rate(
        "RATE_LIMIT_BODIES",
        "120/m",
        "Megabytes that a user sends in bodies above 64 kB, other than imported files; packed ones as they are "
        "unpacked. A body above the limit is accepted when all of it is left.",
    ),
    "uploads": _rate(
        "RATE_LIMIT_UPLOADS", "6000/h", "Megabytes that a user sends in imported files and uploaded snapshots."
    ),
}
# By address: nobody is signed in yet.
REGISTRATION_RATE = env.str(
    "RATE_LIMIT_REGISTRATIONS",
    default="60/h",
    group=Group.LIMITS,
    help="Programs that register themselves by OAuth, of one address.",
)
REQUESTS_AT_ONCE = env.int(
    "REQUESTS_AT_ONCE",
    default=8 if REACHED_BY_OTHERS else 0,
    shown="`8`; any number on one machine",
    group=Group.LIMITS,
    help="Requests of a user that are worked on at once; `0`: any number. Those of a process that was killed count for "
    "one minute more.",
)
QUOTA_CHATS = env.int(
    "QUOTA_CHATS",
    default=0,
    group=Group.LIMITS,
    help="How many chats a person can have, those in the bin included; `0`: any number. So for the next two. People "
    "see what is left in their settings.",
)
QUOTA_MESSAGES = env.int("QUOTA_MESSAGES", default=0, group=Group.LIMITS, help="How many messages a person can have.")
QUOTA_MEGABYTES = env.int(
    "QUOTA_MEGABYTES",
    default=0,
    group=Group.LIMITS,
    help="How much a person’s rows may take, with the log of changes; counted once a day, and when they look.",
)
# Views that take files up to IMPORT_MAX_BYTES; all other bodies are limited by REQUEST_MAX_BYTES.
UPLOAD_ROUTES = {
    *("api-chat-import", "api-imports", "api-character-import", "api-lorebook-import"),
    *("api-chat-memories-import", "api-character-memories-import", "api-snapshot-upload"),
    *("chats:import", "characters:import", "exchange:chat", "exchange:character", "snapshots:upload"),
}
RATE_LIMIT_SCOPES = {
    "search": {"api-search", "mem0-search", "mem0-search-v1", "mem0-search-v2"},
    "generation": {
        "api-reply",
        "api-answer",
        "replies:panel",
        "proxy-chat-completions",
        "api-connection-test",
        "llm:test",
    },
    "imports": UPLOAD_ROUTES | {"api-snapshot-restore", "snapshots:restore"},
}
