"""Tools about memories."""

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
    number,
    present,
    shortened,
    text,
    texts,
    uuid,
    without_key,
)
from apps.memories.operations.memories import MAX_TEXT_LENGTH

KINDS = ["fact", "relationship", "preference", "event", "scene", "revelation", "development", "detail"]
SEARCHED = ["long_term", "session", "journal", "messages"]
MAX_STEPS = 50  # of a history
CHAT = "Id of a chat, from chat_list."
CHARACTER = "Id of a character that the memory belongs to; chat_list names that of each chat."


def brief(memory: Schema) -> Schema:
    """Return what a model needs of a memory."""
    state = memory["state"]
    return {"id": memory["id"], "text": memory["text"], "kind": memory["kind"]} | present(
        state=None if state == "active" else state,
        superseded_by=memory["superseded_by"],
        chat=memory["chat"],
        character=memory["character"],
        pinned=memory["pinned"] or None,
        updated=memory["updated_at"][:10],
    )


async def search(api: Api, arguments: Arguments) -> Schema:
    found = await api.post("memories/search/", {"limit": 8, **arguments})
    return {"method": found["method"], "results": [_brief_result(result) for result in found["results"]]}


def _brief_result(result: Schema) -> Schema:
    score = round(result["score"], 3)
    if memory := result["memory"]:
        return {**brief(memory), "score": score}
    if message := result["message"]:
        said = {"id": message["id"], "chat": message["chat"], "index": message["index"], "name": message["name"]}
        return {"said": shortened(result["excerpt"]), **said, "score": score}
    entry = result["entry"]
    return {"journal": entry["period"], "id": entry["id"], "text": shortened(result["excerpt"]), "score": score}


async def add(api: Api, arguments: Arguments) -> Schema:
    key = arguments.get("idempotency_key")
    return brief(await api.post("memories/", without_key(arguments), key=key))


async def update(api: Api, arguments: Arguments) -> Schema:
    changes = {name: value for name, value in without_key(arguments).items() if name != "id"}
    return brief(await api.patch(f"memories/{arguments['id']}/", changes, key=arguments.get("idempotency_key")))


async def delete(api: Api, arguments: Arguments) -> Schema:
    await api.delete(f"memories/{arguments['id']}/")
    return {"deleted": arguments["id"]}


async def list_all(api: Api, arguments: Arguments) -> Schema:
    page = await api.get("memories/", **{"limit": 20, **arguments})
    return {"memories": [brief(memory) for memory in page["results"]]} | present(cursor=cursor_of(page))


async def history(api: Api, arguments: Arguments) -> Schema:
    """Return the memory with those that it replaced and that replaced it, the earliest first."""
    memory = await api.get(f"memories/{arguments['id']}/")
    earlier = await _linked(api, memory, "supersedes")
    later = await _linked(api, memory, "superseded_by")
    return {"history": [_step(step) for step in (*reversed(earlier), memory, *later)]}


async def _linked(api: Api, memory: Schema, link: str) -> list[Schema]:
    """Return the memories that a link leads to, and theirs in turn. Those that are deleted are left out."""
    found: dict[str, Schema] = {}
    waiting = [memory]
    while waiting and len(found) < MAX_STEPS:
        linked = waiting.pop(0)[link] or []
        for memory_id in [linked] if isinstance(linked, str) else linked:
            if memory_id in found:
                continue
            try:
                found[memory_id] = await api.get(f"memories/{memory_id}/")
            except Refused as refused:
                if refused.status != 404:
                    raise
            else:
                waiting.append(found[memory_id])
    return list(found.values())


def _step(memory: Schema) -> Schema:
    details = {"created": memory["created_at"][:10], "edited_by": memory["edited_by"], "version": memory["version"]}
    return brief(memory) | present(**details, messages=memory["source_messages"])


TOOLS = [
    Definition(
        "memory_search",
        "Search memory",
        "Search what is remembered of the user's conversations: facts, preferences, events, the journal, and what was "
        "said. Call it before you answer anything that may depend on earlier conversations ('as we said', 'my sister', "
        "plans, names), and before you say that you don't know. Write the query as a sentence or as key words.",
        search,
        {
            "query": text("What to look for.", minLength=1, maxLength=20_000),
            "chat": uuid(f"{CHAT} Only what is known there."),
            "character": uuid("Id of a character: only its memories."),
            "instance": text("Your own name as an instance: what came from it counts a little more.", maxLength=100),
            "tiers": texts("Where to look; everywhere if it is left out.", SEARCHED),
            "kind": choice("Only memories of this kind.", KINDS),
            "limit": integer("How many results; 8 if it is left out.", minimum=1, maximum=50),
            "min_score": number("Leave out results with a lower score.", minimum=0, maximum=1),
        },
        required=("query",),
        reads=True,
    ),
    Definition(
        "memory_add",
        "Add a memory",
        "Remember one thing for good. Call it when the user says something about themselves, their people, plans or "
        "wishes that later conversations need, or asks you to remember it. One fact in one sentence that is understood "
        "without the conversation: names instead of pronouns, dates instead of 'tomorrow'. Search first, and use "
        "memory_update if something like it is known. Never store keys or passwords.",
        add,
        {
            "text": text("The memory, one sentence.", minLength=1, maxLength=MAX_TEXT_LENGTH),
            "kind": choice("What it is; a fact if it is left out.", KINDS),
            "importance": integer("1 small, 2 normal, 3 must never be forgotten.", minimum=1, maximum=3),
            "tier": choice("session: only of its chat. long_term, the default: lasting.", ["long_term", "session"]),
            "chat": uuid(f"{CHAT} Where it was said."),
            "character": uuid(CHARACTER),
            "idempotency_key": KEY,
        },
        required=("text",),
    ),
    Definition(
        "memory_update",
        "Correct a memory",
        "Correct a memory that is wrong or out of date: it overwrites the text. Call it when the user corrects "
        "something, or when what you hear contradicts a memory that you have found. Needs the id from memory_search or "
        "memory_list.",
        update,
        {
            "id": uuid("Id of the memory."),
            "text": text("The new text.", minLength=1, maxLength=MAX_TEXT_LENGTH),
            "kind": choice("What it is.", KINDS),
            "importance": integer("1 to 3.", minimum=1, maximum=3),
            "pinned": {"type": "boolean", "description": "Whether it always goes into prompts."},
            "hidden": {"type": "boolean", "description": "Whether it is kept out of prompts."},
            "idempotency_key": KEY,
        },
        required=("id",),
        destroys=True,
        repeats_safely=True,
    ),
    Definition(
        "memory_delete",
        "Forget a memory",
        "Forget a memory. Call it only if the user asks you to forget something; to correct it, use memory_update. "
        "Say what you will delete before you do.",
        delete,
        {"id": uuid("Id of the memory.")},
        required=("id",),
        destroys=True,
        repeats_safely=True,
    ),
    Definition(
        "memory_list",
        "List memories",
        "List memories, the newest first, page by page. Call it when the user wants to see what is remembered, or of "
        "one chat, character or person. To find something, use memory_search.",
        list_all,
        {
            "chat": uuid(f"{CHAT} What it has learnt."),
            "character": uuid("Id of a character: only its memories."),
            "entity": text("Name of a person, place or thing that they name.", minLength=1, maxLength=200),
            "kind": choice("Only this kind.", KINDS),
            "tier": choice("Lasting memories, or those of one chat.", ["long_term", "session"]),
            "state": choice("active: what holds. superseded: what was replaced.", ["active", "superseded", "retired"]),
            "limit": integer("How many; 20 if it is left out.", minimum=1, maximum=100),
            "cursor": CURSOR,
        },
        reads=True,
    ),
    Definition(
        "memory_history",
        "History of a memory",
        "Show how a memory came about: what it replaced, what replaced it, and the messages it was made from. Call it "
        "when the user asks since when or from where something is known, or what was true before.",
        history,
        {"id": uuid("Id of the memory.")},
        required=("id",),
        reads=True,
    ),
]
