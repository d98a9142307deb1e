"""Tools about chats: which there are, what to remember in the next turn, what was said."""

from apps.mcp.calls import Api, Refused
from apps.mcp.tools.definitions import (
    CURSOR,
    KEY,
    Arguments,
    Definition,
    Schema,
    choice,
    cursor_of,
    integer,
    present,
    text,
    uuid,
)

ROLES = ["user", "assistant", "system"]
MAX_MESSAGES = 100


async def list_chats(api: Api, arguments: Arguments) -> Schema:
    page = await api.get("chats/", **{"limit": 10, **arguments})
    chats = [
        {"id": chat["id"], "title": chat["title"], "messages": chat["message_count"]}
        | present(character=chat["character"], last_active=(chat["last_active"] or "")[:10])
        for chat in page["results"]
    ]
    return {"chats": chats} | present(cursor=cursor_of(page))


async def prompt_for_turn(api: Api, arguments: Arguments) -> Schema:
    """Return one text of all that is to be remembered, and how much it is."""
    body = {name: value for name, value in arguments.items() if name != "chat"}
    prompt = await api.post(f"chats/{arguments['chat']}/prompt/", body)
    slots = [slot["text"] for slot in prompt["slots"] if slot["text"]]
    remembered = prompt["unified"] or "\n\n".join(slots)
    recalled = len(prompt["recall"]["memories"]) if prompt["recall"] else 0
    return {"text": remembered, "tokens": prompt["total_tokens"], "recalled": recalled}


async def append(api: Api, arguments: Arguments) -> Schema:
    """Add messages to a chat, which is begun if none is named."""
    chat_id, key = arguments.get("chat"), arguments.get("idempotency_key")
    if chat_id and "title" in arguments:
        raise Refused("title: it is only for a new chat. Leave out title or chat.")
    if not chat_id:
        chat = await api.post("chats/", {"title": arguments.get("title", "MCP")}, key=f"{key} chat" if key else None)
        chat_id = chat["id"]
    body = {"messages": [_message(message) for message in arguments["messages"]]}
    try:
        stored = await api.post(f"chats/{chat_id}/append/", body, key=key)
    except Refused as refused:
        raise Refused(str(refused).replace("/mes:", "/text:"), refused.status) from None
    appended = [message["id"] for message in stored["appended"]]
    return {"chat": chat_id, "messages": stored["message_count"], "appended": appended}


def _message(message: Schema) -> Schema:
    """Return a message of Loci. What a system says is stored, but hidden from prompts."""
    fields = {"mes": message["text"], "is_user": message["role"] == "user", "is_system": message["role"] == "system"}
    return fields | present(name=message.get("name"))


MESSAGES = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_MESSAGES,
    "description": "The messages, the earliest first.",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["role", "text"],
        "properties": {
            "role": choice("Who spoke.", ROLES),
            "text": text("What was said, word for word.", minLength=1),
            "name": text("Name of the speaker.", minLength=1, maxLength=200),
        },
    },
}
TOOLS = [
    Definition(
        "chat_list",
        "List chats",
        "List the user's chats, the latest first, or those whose title or text has some words. Call it to get the id "
        "that other tools ask for.",
        list_chats,
        {
            "q": text("Words of the title or of what was said.", minLength=1, maxLength=200),
            "character": uuid("Id of a character: only its chats."),
            "limit": integer("How many; 10 if it is left out.", minimum=1, maximum=100),
            "cursor": CURSOR,
        },
        reads=True,
    ),
    Definition(
        "prompt_for_turn",
        "What to remember now",
        "Get all that should be in mind for the next reply in a chat: summary, characters, arcs, and what the user's "
        "message brings back. Call it once a turn, before you reply, if you continue a chat that is stored in Loci.",
        prompt_for_turn,
        {
            "chat": uuid("Id of the chat, from chat_list."),
            "text": text("What the user has just said; left out, the chat's last message."),
            "character": uuid("Id of the character who will speak, in a group."),
            "context_tokens": integer("How large the whole context is.", minimum=1, maximum=10_000_000),
        },
        required=("chat",),
        reads=False,
        repeats_safely=True,
    ),
    Definition(
        "chat_append",
        "Store what was said",
        "Store messages at the end of a chat, so that Loci can remember what happened in them. Call it after a reply "
        "that should be kept, with the user's message and yours, word for word. Without a chat it begins a new one.",
        append,
        {
            "chat": uuid("Id of the chat; left out, a new one is begun."),
            "title": text("Title of the new chat.", minLength=1, maxLength=200),
            "messages": MESSAGES,
            "idempotency_key": KEY,
        },
        required=("messages",),
    ),
]
