"""How much may be sent and stored, how often, and for how long it is kept."""

from config.env import env
from config.settings.installation import REACHED_BY_OTHERS

REQUEST_MAX_BYTES = env.int("REQUEST_MAX_BYTES", default=64 * 1024 * 1024)
SNAPSHOT_MAX_BYTES = env.int("SNAPSHOT_MAX_BYTES", default=4 * 1024**3)  # of a snapshot when unpacked
SNAPSHOTS_DAILY = env.int("SNAPSHOTS_DAILY", default=7)  # daily snapshots kept of an account; 0: none are made
REQUEST_MAX_VALUES = env.int("REQUEST_MAX_VALUES", default=500_000)
IMPORT_MAX_BYTES = env.int("IMPORT_MAX_BYTES", default=200 * 1024 * 1024)
MESSAGE_DATA_MAX_BYTES = env.int("MESSAGE_DATA_MAX_BYTES", default=256 * 1024)
CHAT_METADATA_MAX_BYTES = env.int("CHAT_METADATA_MAX_BYTES", default=4 * 1024 * 1024)
SETTINGS_KEY_MAX_BYTES = env.int("SETTINGS_KEY_MAX_BYTES", default=4 * 1024 * 1024)
SETTINGS_MAX_BYTES = env.int("SETTINGS_MAX_BYTES", default=16 * 1024 * 1024)
IDEMPOTENCY_HOURS = env.int("IDEMPOTENCY_HOURS", default=24)
CHANGE_LOG_DAYS = env.int("CHANGE_LOG_DAYS", default=30)
CHANGE_LOG_MIN = env.int("CHANGE_LOG_MIN", default=1000)
SSE_MAX_PER_USER = env.int("SSE_MAX_PER_USER", default=20)
SSE_HEARTBEAT = env.float("SSE_HEARTBEAT", default=15.0)  # seconds
DATA_UPLOAD_MAX_MEMORY_SIZE = REQUEST_MAX_BYTES

# What a user can have; 0: any number.
QUOTA_CHATS = env.int("QUOTA_CHATS", default=0)
QUOTA_MESSAGES = env.int("QUOTA_MESSAGES", default=0)
QUOTA_MEGABYTES = env.int("QUOTA_MEGABYTES", default=0)

# Rates of requests by user, such as 600/m; empty: no limit.
RATE_LIMITS = {
    "api": env.str("RATE_LIMIT_API", default="1200/m" if REACHED_BY_OTHERS else ""),
    "search": env.str("RATE_LIMIT_SEARCH", default="300/m" if REACHED_BY_OTHERS else ""),
    "generation": env.str("RATE_LIMIT_GENERATION", default="60/m" if REACHED_BY_OTHERS else ""),
    "imports": env.str("RATE_LIMIT_IMPORTS", default="300/h" if REACHED_BY_OTHERS else ""),
    # megabytes, of files and of all else
    "uploads": env.str("RATE_LIMIT_UPLOADS", default="6000/h" if REACHED_BY_OTHERS else ""),
    "bodies": env.str("RATE_LIMIT_BODIES", default="120/m" if REACHED_BY_OTHERS else ""),
}
# Programs that register themselves for OAuth, by address: nobody is signed in yet.
REGISTRATION_RATE = env.str("RATE_LIMIT_REGISTRATIONS", default="60/h")
# Requests of a user that are worked on at once, by all processes together; 0: any number.
REQUESTS_AT_ONCE = env.int("REQUESTS_AT_ONCE", default=8 if REACHED_BY_OTHERS else 0)
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
