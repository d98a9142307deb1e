"""The calls of the HTTP API, each as a flow of requests that a client runs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Literal
from urllib.parse import parse_qsl, quote, urlsplit

from loci_client.errors import NotFound, UnreadableReply, error_of
from loci_client.requests import Flow, Reply, Request, Upload, encoded, given, read, send_file, write
from loci_client.types import (
    Appended,
    Changes,
    Chat,
    DataWritten,
    Imported,
    MetadataWritten,
    NewMessage,
    Operation,
    Page,
    Patch,
    Patched,
    Prompt,
    SearchResults,
    Settings,
    Tombstones,
    Undone,
    Window,
    Written,
)

OnConflict = Literal["fail", "rebase"]
Swipe = int | Literal["previous"]
Tier = Literal["long_term", "session", "journal", "scenes", "messages"]
JSON_PATCH = "application/json-patch+json"
UNSET: Any = object()


def ask(request: Request) -> Flow[Any]:
    """Return the JSON of the reply, or None if it is empty. Raise ProblemError, UnreadableReply, Unavailable."""
    reply = yield request
    return content_of(reply)


def content_of(reply: Reply) -> Any:
    if not 200 <= reply.status < 300:
        raise error_of(reply)
    if not reply.content:
        return None
    try:
        return json.loads(reply.content)
    except ValueError:
        raise UnreadableReply(f"The reply with status {reply.status} is not JSON.") from None


def path(*parts: str) -> str:
    return "".join(f"{quote(str(part), safe='')}/" for part in parts)


# Chats


def list_chats(*, q: str | None = None, character: str | None = None, limit: int | None = None) -> Flow[Page[Chat]]:
    """Return a page of chats, newest activity first. ``q`` searches titles and text."""
    return ask(read("chats/", q=q, character=character, limit=limit))


def next_chats(page: Page[Chat]) -> Flow[Page[Chat]]:
    """Return the page after one with a ``next``. Only its query is used, so that the token is sent to no other host."""
    query = dict(parse_qsl(urlsplit(page["next"] or "").query))
    return ask(Request("GET", "chats/", query))


def create_chat(
    title: str = "",
    *,
    character: str | None = None,
    user_name: str | None = None,
    persona: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Flow[Chat]:
    """Create a chat. Without a name and a persona, it is the user's default persona's."""
    body = given(title=title or None, character=character, user_name=user_name, persona=persona, metadata=metadata)
    return ask(write("POST", "chats/", body, key=key))


def get_chat(chat_id: str) -> Flow[Chat]:
    return ask(read(path("chats", chat_id)))


def update_chat(chat_id: str, **fields: Any) -> Flow[Chat]:
    """Change title, character and persona (None for none) and user_name.

    With ``integrity``, raise IntegrityConflict if the chat was written since. Without one, the last write wins.
    """
    return ask(write("PATCH", path("chats", chat_id), fields))


def delete_chat(chat_id: str) -> Flow[None]:
    return ask(write("DELETE", path("chats", chat_id)))


def get_messages(chat_id: str, start: int = 0, limit: int = 50) -> Flow[Window]:
    """Return a window of up to 200 messages. A negative ``start`` counts from the end."""
    return ask(read(path("chats", chat_id, "messages"), **{"from": start, "limit": limit}))


def branch_chat(
    chat_id: str, at: int, *, title: str | None = None, checkpoint: bool = False, key: str | None = None
) -> Flow[Chat]:
    """Create a chat from the messages of this one up to index ``at``, inclusive."""
    body = given(at=at, title=title, checkpoint=checkpoint or None)
    return ask(write("POST", path("chats", chat_id, "branch"), body, key=key))


def import_chat(
    file: BinaryIO, filename: str, *, title: str | None = None, character: str | None = None, key: str | None = None
) -> Flow[Imported]:
    """Import a chat file. It is streamed from its start, and again after a lost connection.

    A file that can't be rewound, such as a pipe, is sent only once.
    """
    upload = Upload(file, filename, given(title=title, character=character))
    return ask(send_file("chats/import/", upload, key=key))


def export_request(chat_id: str, format: str = "jsonl") -> Request:
    return read(path("chats", chat_id, "export"), format=format)


# Incremental sync


def append(
    chat_id: str,
    messages: Sequence[NewMessage],
    *,
    integrity: str | None = None,
    on_conflict: OnConflict | None = None,
    force: bool | None = None,
    key: str | None = None,
) -> Flow[Appended]:
    """Append messages. Without an integrity they are appended to any state of the chat."""
    body = given(integrity=integrity, on_conflict=on_conflict, force=force, messages=list(messages))
    return ask(write("POST", path("chats", chat_id, "append"), body, key=key))


def patch(
    chat_id: str,
    patches: Sequence[Patch],
    *,
    integrity: str | None = None,
    on_conflict: OnConflict | None = None,
    force: bool | None = None,
    key: str | None = None,
) -> Flow[Patched]:
    """Apply all of the patches to messages, or none."""
    body = given(integrity=integrity, on_conflict=on_conflict, force=force, patches=list(patches))
    return ask(write("POST", path("chats", chat_id, "patch"), body, key=key))


def patch_metadata(
    chat_id: str,
    metadata: Mapping[str, Any],
    *,
    integrity: str | None = None,
    force: bool | None = None,
    key: str | None = None,
) -> Flow[MetadataWritten]:
    """Apply a merge patch (RFC 7396) to the metadata: null deletes a key, arrays are replaced."""
    body = given(integrity=integrity, force=force, metadata=metadata)
    return ask(write("POST", path("chats", chat_id, "patch-metadata"), body, key=key))


def operate_on_metadata(
    chat_id: str,
    operations: Sequence[Operation],
    *,
    integrity: str | None = None,
    force: bool | None = None,
    key: str | None = None,
) -> Flow[MetadataWritten]:
    """Apply a JSON Patch (RFC 6902) to the metadata."""
    body = given(integrity=integrity, force=force, operations=list(operations))
    to = path("chats", chat_id, "patch-metadata")
    return ask(write("POST", to, body, key=key, content_type=JSON_PATCH))


def get_changes(chat_id: str, since: str | int) -> Flow[Changes]:
    """Return the changes since a state, given by integrity or rev. Raise Gone if the log doesn't go back so far.

    The server sends many changes in several pages. All pages are read, from the start if the chat is written meanwhile.
    """
    page: Changes = yield from ask(read(path("chats", chat_id, "changes"), since=since))
    first, integrity, changes = page, page["integrity"], page["changes"]
    while page["next"]:
        page = yield from ask(read(path("chats", chat_id, "changes"), since=changes[-1]["rev"]))
        if page["integrity"] != integrity:
            return (yield from get_changes(chat_id, since))
        changes += page["changes"]
    return first | {"changes": changes, "next": None}  # its tombstones include those of all others


def get_tombstones(chat_id: str, since: str | None = None) -> Flow[Tombstones]:
    """Return all memories deleted since a moment, or ever, that the chat may have known. One may come repeatedly."""
    page: Tombstones = yield from ask(read(path("memories", "tombstones"), chat=chat_id, since=since))
    found = page["tombstones"]
    while not page["complete"]:
        page = yield from ask(read(path("memories", "tombstones"), chat=chat_id, since=page["until"]))
        found += page["tombstones"]
    return page | {"tombstones": found}


def undo(chat_id: str, *, rev: int | None = None, integrity: str | None = None, key: str | None = None) -> Flow[Undone]:
    """Undo the write with the given rev, or the last one of this token. Raise NothingToUndo, UndoConflict."""
    return ask(write("POST", path("chats", chat_id, "undo"), given(rev=rev, integrity=integrity), key=key))


# Message data


def _data(chat_id: str, message_id: str, *more: str) -> str:
    return path("chats", chat_id, "messages", message_id, "data", *more)


def get_data(chat_id: str, message_id: str, namespace: str, *, swipe: Swipe | None = None) -> Flow[dict[str, Any]]:
    """Return all keys of a namespace of the active swipe, or of another one. It is empty if there is no such swipe."""
    try:
        return (yield from ask(read(_data(chat_id, message_id, namespace), swipe=swipe)))
    except NotFound:
        return {}


def patch_data(
    chat_id: str,
    message_id: str,
    namespace: str,
    data: Mapping[str, Any],
    *,
    integrity: str,
    clear: Sequence[str] = (),
    swipe: Swipe | None = None,
    on_conflict: OnConflict | None = None,
    key: str | None = None,
) -> Flow[DataWritten]:
    """Set keys of the active swipe or of another one, and delete those in ``clear``. None is stored as null."""
    body = given(integrity=integrity, on_conflict=on_conflict, data=data, clear=list(clear) or None)
    return ask(write("PATCH", _data(chat_id, message_id, namespace), body, key=key, swipe=swipe))


def get_value(
    chat_id: str, message_id: str, namespace: str, name: str, *, swipe: Swipe | None = None, default: Any = UNSET
) -> Flow[Any]:
    """Return the value of one key, which may be None. If it is not set, return ``default``, or raise NotFound."""
    try:
        document = yield from ask(read(_data(chat_id, message_id, namespace, name), swipe=swipe))
    except NotFound:
        if default is UNSET:
            raise
        return default
    return document["value"]


def put_value(
    chat_id: str,
    message_id: str,
    namespace: str,
    name: str,
    value: Any,
    *,
    integrity: str | None = None,
    swipe: Swipe | None = None,
    key: str | None = None,
) -> Flow[Written]:
    """Set one key of the active swipe or of another one. None is stored as null."""
    body = given(integrity=integrity) | {"value": value}
    return ask(write("PUT", _data(chat_id, message_id, namespace, name), body, key=key, swipe=swipe))


def delete_value(
    chat_id: str,
    message_id: str,
    namespace: str,
    name: str,
    *,
    integrity: str | None = None,
    swipe: Swipe | None = None,
    key: str | None = None,
) -> Flow[Written]:
    """Delete one key of the active swipe or of another one. Nothing happens if it is not set."""
    body = given(integrity=integrity) or None
    return ask(write("DELETE", _data(chat_id, message_id, namespace, name), body, key=key, swipe=swipe))


def get_recap(chat_id: str, message_id: str, *, swipe: Swipe | None = None) -> Flow[dict[str, Any]]:
    """Return the recap of a message; its ``text`` is None if there is none."""
    return ask(read(_recap(chat_id, message_id), swipe=swipe))


def put_recap(
    chat_id: str,
    message_id: str,
    text: str,
    *,
    integrity: str | None = None,
    swipe: Swipe | None = None,
    key: str | None = None,
) -> Flow[dict[str, Any]]:
    """Replace the recap of a message with a text of a person."""
    body = given(integrity=integrity, text=text)
    return ask(write("PUT", _recap(chat_id, message_id), body, key=key, swipe=swipe))


def delete_recap(
    chat_id: str,
    message_id: str,
    *,
    integrity: str | None = None,
    swipe: Swipe | None = None,
    key: str | None = None,
) -> Flow[dict[str, Any]]:
    """Clear the recap of a message."""
    return ask(write("DELETE", _recap(chat_id, message_id), given(integrity=integrity), key=key, swipe=swipe))


def _recap(chat_id: str, message_id: str) -> str:
    return path("chats", chat_id, "messages", message_id, "recap")


# Settings


def get_settings() -> Flow[Settings]:
    return ask(read("settings/"))


def patch_settings(
    settings: Mapping[str, Any], *, integrity: str, on_conflict: OnConflict | None = None, key: str | None = None
) -> Flow[Settings]:
    """Apply a merge patch (RFC 7396) to the settings.

    Raise IntegrityConflict for an outdated integrity. With ``on_conflict="rebase"`` the patch is accepted if none of
    its top-level keys was changed since.
    """
    body = given(integrity=integrity, on_conflict=on_conflict, settings=settings)
    return ask(write("PATCH", "settings/", body, key=key))


# Memories


def search_memories(
    query: str,
    *,
    chat: str | None = None,
    character: str | None = None,
    instance: str | None = None,
    tiers: Sequence[Tier] | None = None,
    limit: int | None = None,
    min_score: float | None = None,
    preset: str | None = None,
) -> Flow[SearchResults]:
    scope = given(chat=chat, character=character, instance=instance, tiers=tiers)
    body = given(query=query, limit=limit, min_score=min_score, preset=preset) | scope
    return ask(write("POST", "memories/search/", body))


def get_graph(
    *, chat: str | None = None, character: str | None = None, memory: str | None = None
) -> Flow[dict[str, Any]]:
    """Return ``nodes``, ``edges`` and how many were ``left_out``, of a chat, a character, a memory or the account."""
    return ask(read("graph/", chat=chat, character=character, memory=memory))


def assemble_prompt(
    chat_id: str,
    text: str | None = None,
    *,
    character: str | None = None,
    context_tokens: int | None = None,
    history: bool | None = None,
) -> Flow[Prompt]:
    """Return the prompt for the user turn ``text``: memories in slots and, with ``history``, the messages."""
    body = given(text=text, character=character, context_tokens=context_tokens, history=history)
    return ask(write("POST", path("chats", chat_id, "prompt"), body))


# Instances


def register_instance(name_id: str, *, type: str = "", name: str = "", priority: int = 0) -> Flow[dict[str, Any]]:
    """Register an instance. Raise ConflictError if there is one with this id."""
    return ask(write("POST", "instances/", {"id": name_id, "type": type, "name": name, "priority": priority}))


def sync_pull(instance: str, since: Mapping[str, int] | None, *, cursor: str | None = None) -> Flow[dict[str, Any]]:
    """Return a page of what has changed since a clock, or of everything."""
    query = {} if cursor is None else {"cursor": cursor}
    content = encoded({"instance": instance, "since": since})
    # It only reads, so that it needs no Idempotency-Key to be repeated.
    return ask(Request("POST", "sync/pull/", query, {"Content-Type": "application/json"}, content))


def sync_push(body: Mapping[str, Any], *, key: str | None = None) -> Flow[dict[str, Any]]:
    """Push what an instance has written."""
    return ask(write("POST", "sync/push/", body, key=key))


def sync_status() -> Flow[dict[str, Any]]:
    """Return the instances, their clocks and how many conflicts are open."""
    return ask(read("sync/status/"))
