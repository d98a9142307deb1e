"""
title: Loci memory
description: Adds what Loci remembers to each prompt, and stores each turn in Loci.
author: Loci
version: 1.1.0
license: MIT
requirements: httpx
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from pydantic import BaseModel, Field

KEY = "open_webui"  # in the metadata of a chat and in the extra data of a message, with Open WebUI's id
WINDOW = 100  # messages that are compared; older ones are taken as they are
PAGES = 10  # of 200 chats or characters that are looked through for one that was stored before this process started

UNSAVED = ("local:", "temporary:", "channel:")  # beginnings of ids of what is no stored chat
# A wrong address, or a page in Loci's place, must not break the chat.
FAILURES = (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError)

Emitter = Callable[[dict[str, Any]], Awaitable[None]]


class Filter:
    """A filter function of Open WebUI: ``inlet`` adds memory before the model is asked, ``outlet`` stores the turn.

    Where Loci can't be reached, the chat goes on without memory, and the next turn stores what is missing.
    """

    class Valves(BaseModel):
        """What an administrator sets for everybody."""

        priority: int = Field(default=0, description="Filters with lower numbers run first.")
        loci_url: str = Field(default="http://127.0.0.1:8000", description="Address of Loci.")
        loci_token: str = Field(default="", description="Token with write access, for users without one of their own.")
        character: str = Field(
            default="Assistant",
            description="Name of the character of Loci that a user's chats are with, so that they remember each other. "
            "Each user has one of their own; without a name each chat remembers itself only.",
        )
        timeout: float = Field(default=10.0, description="Seconds to wait for Loci before a turn goes on without it.")

    class UserValves(BaseModel):
        """What each user sets. With a token of their own, their chats are in their own account of Loci."""

        loci_token: str = Field(default="", description="Your own token of Loci, with write access.")
        enabled: bool = Field(default=True, description="Use and store memory in your chats.")

    def __init__(self) -> None:
        self.valves = self.Valves()
        self._chats: dict[tuple[str, str], str] = {}  # Loci's ids by token and Open WebUI's id
        self._creation = asyncio.Lock()  # two first chats at once must not create the character twice

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> dict[str, Any]:
        """Return the request with what Loci recalls for its last turn."""
        chat_id = self._chat_id(body, __metadata__)
        token = self._token(__user__)
        turns = [message for message in body.get("messages", []) if message.get("role") == "user"]
        if not chat_id or not token or not turns:
            return body
        try:
            async with self._client(token) as client:
                chat = await self._chat(client, token, chat_id, __user__)
                reply = await client.post(
                    f"chats/{chat}/prompt/", json={"text": text_of(turns[-1]["content"]), "history": False}
                )
                reply.raise_for_status()
                messages = with_memory(body["messages"], reply.json()["slots"])
        except FAILURES as error:
            await tell(__event_emitter__, f"Loci is left out: {reason_of(error)}")
            return body
        return body | {"messages": messages}

    async def outlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> dict[str, Any]:
        """Store what is new or changed in the chat. Return the body as it is."""
        chat_id = self._chat_id(body, __metadata__)
        token = self._token(__user__)
        if not chat_id or not token:
            return body
        try:
            async with self._client(token) as client:
                chat = await self._chat(client, token, chat_id, __user__)
                names = ((__user__ or {}).get("name", "User"), str(body.get("model") or "Assistant"))
                await store(client, chat, body.get("messages", []), names)
        except FAILURES as error:
            await tell(__event_emitter__, f"Loci stores this turn with the next one: {reason_of(error)}")
        return body

    def _chat_id(self, body: dict[str, Any], metadata: dict[str, Any] | None) -> str:
        """Return Open WebUI's id of a stored chat. Titles, tags and temporary chats have no place in memory."""
        known = metadata or {}
        chat_id = str(known.get("chat_id") or body.get("chat_id") or "")
        return "" if known.get("task") or chat_id.startswith(UNSAVED) else chat_id

    def _token(self, user: dict[str, Any] | None) -> str:
        own = (user or {}).get("valves")
        if own is not None and not own.enabled:
            return ""
        return (own.loci_token if own else "") or self.valves.loci_token

    def _client(self, token: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=f"{self.valves.loci_url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=self.valves.timeout,
        )

    async def _chat(self, client: httpx.AsyncClient, token: str, chat_id: str, user: dict[str, Any] | None) -> str:
        """Return Loci's id of a chat, which is created if Loci has none for it."""
        if known := self._chats.get((token, chat_id)):
            return known
        found = await find(client, "chats/", lambda chat: chat["metadata"].get(KEY) == chat_id)
        if found is None:
            document = {
                "title": "Open WebUI",
                "character": await self._character(client, str((user or {}).get("id", ""))),
                "user_name": (user or {}).get("name", ""),
                "metadata": {KEY: chat_id},
            }
            found = await create(client, "chats/", document, {"Idempotency-Key": f"open-webui-{chat_id}"})
        return self._chats.setdefault((token, chat_id), found)

    async def _character(self, client: httpx.AsyncClient, user_id: str) -> str | None:
        """Return Loci's id of the character of a user's new chats, who is created if there is none.

        Users without a token of their own share an account of Loci, where only its character keeps their memory apart.
        """
        name = self.valves.character.strip()
        if not name:
            return None
        own = {"name": name, "extensions": {KEY: user_id}}
        async with self._creation:
            found = await find(client, "characters/", lambda character: own.items() <= character.items())
            return found or await create(client, "characters/", own)


async def find(client: httpx.AsyncClient, route: str, holds: Callable[[dict[str, Any]], bool]) -> str | None:
    """Return the id of the first item of a list that fulfils a condition, or None."""
    address: str | None = f"{route}?limit=200"
    for _ in range(PAGES):
        if address is None:
            return None
        page = await client.get(address)
        page.raise_for_status()
        for item in page.json()["results"]:
            if holds(item):
                return str(item["id"])
        address = page.json()["next"]
    return None


async def create(
    client: httpx.AsyncClient, route: str, document: dict[str, Any], headers: dict[str, str] | None = None
) -> str:
    """Create an item. Return its id."""
    reply = await client.post(route, json=document, headers=headers)
    reply.raise_for_status()
    return str(reply.json()["id"])


async def store(client: httpx.AsyncClient, chat: str, sent: list[dict[str, Any]], names: tuple[str, str]) -> None:
    """Bring the chat in Loci up to what Open WebUI shows: appended, changed, replaced and dropped messages."""
    reply = await client.get(f"chats/{chat}/messages/?from=-{WINDOW}&limit={WINDOW}")
    reply.raise_for_status()
    window = reply.json()
    integrity = window["integrity"]
    stored = [message for message in window["results"] if message["extra"].get(KEY)]
    shown = [message for message in sent if message.get("role") in ("user", "assistant") and message.get("content")]
    patches, new = differences(stored, shown)
    if patches:
        body = {"integrity": integrity, "patches": patches, "on_conflict": "rebase"}
        reply = await client.post(f"chats/{chat}/patch/", json=body)
        reply.raise_for_status()
        integrity = reply.json()["integrity"]
    for start in range(0, len(new), WINDOW):
        messages = [document_of(message, names) for message in new[start : start + WINDOW]]
        body = {"integrity": integrity, "messages": messages, "on_conflict": "rebase"}
        reply = await client.post(f"chats/{chat}/append/", json=body)
        reply.raise_for_status()
        integrity = reply.json()["integrity"]


def differences(
    stored: list[dict[str, Any]], shown: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the patches of stored messages, and the messages to append.

    Both have the same messages up to where somebody edited a turn or asked for another reply. Another reply becomes
    a swipe of the one before; what Open WebUI no longer shows is deleted, which can be undone in Loci.
    """
    ids = [message.get("id") for message in shown]
    if stored and stored[0]["extra"][KEY] in ids:
        shown = shown[ids.index(stored[0]["extra"][KEY]) :]
    patches, same = [], 0
    for old, message in zip(stored, shown, strict=False):
        if old["extra"][KEY] != message.get("id"):
            break
        if old["mes"] != text_of(message["content"]):
            patches.append({"id": old["id"], "set": {"mes": text_of(message["content"])}})
        same += 1
    gone, new = stored[same:], shown[same:]
    if gone and new and not gone[0]["is_user"] and new[0]["role"] == "assistant":
        patches.append(other_reply(gone[0], new[0]))
        gone, new = gone[1:], new[1:]
    return patches + [{"id": message["id"], "delete": True} for message in gone], new


def other_reply(old: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    """Return the patch that shows another reply in the place of one: an earlier one again, or a new one."""
    text = text_of(message["content"])
    extra = {KEY: message.get("id")}
    if text in old["swipes"]:
        return {"id": old["id"], "swipe_id": old["swipes"].index(text), "extra": extra}
    return {"id": old["id"], "add_swipe": {"mes": text, "extra": extra}}


def document_of(message: dict[str, Any], names: tuple[str, str]) -> dict[str, Any]:
    """Return a message of Open WebUI as Loci takes it. ``names`` are those of the user and the model."""
    is_user = message["role"] == "user"
    name = names[0] if is_user else str(message.get("modelName") or message.get("model") or names[1])
    return {
        "is_user": is_user,
        "name": name,
        "mes": text_of(message["content"]),
        "extra": {KEY: message.get("id")},
    }


def text_of(content: Any) -> str:
    """Return the text of a content, which may be a list of parts with pictures."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if isinstance(part, dict) and part.get("type") == "text")


def with_memory(messages: list[dict[str, Any]], slots: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the slots of memory: in the system prompt, or as many messages above as they say."""
    told = [slot for slot in slots if slot["text"]]
    result = list(messages)
    for slot in sorted(told, key=lambda slot: slot["depth"] or 0):
        if slot["position"] == "in_chat":
            result.insert(max(len(result) - (slot["depth"] or 0), 0), {"role": slot["role"], "content": slot["text"]})
    in_prompt = "\n\n".join(slot["text"] for slot in told if slot["position"] == "in_prompt")
    if not in_prompt:
        return result
    if result and result[0]["role"] == "system" and isinstance(result[0]["content"], str):
        return [result[0] | {"content": f"{result[0]['content']}\n\n{in_prompt}"}, *result[1:]]
    return [{"role": "system", "content": in_prompt}, *result]


def reason_of(error: Exception) -> str:
    """Return why a call failed, in a few words."""
    if isinstance(error, httpx.InvalidURL):
        return "its address is none."
    if not isinstance(error, httpx.HTTPError):
        return "something else replied in its place."
    if isinstance(error, httpx.HTTPStatusError):
        return f"it replied with the status {error.response.status_code}."
    return "it can't be reached." if isinstance(error, httpx.TransportError) else str(error)


async def tell(emitter: Emitter | None, text: str) -> None:
    """Show a line of status below the chat."""
    if emitter is not None:
        await emitter({"type": "status", "data": {"description": text, "done": True}})
