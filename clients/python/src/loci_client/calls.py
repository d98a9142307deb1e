"""The calls of the HTTP contract, each as a conversation that somebody else carries out."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Literal
from urllib.parse import parse_qsl, quote, urlsplit

from loci_client.errors import UnreadableReply, error_of
from loci_client.requests import Flow, Reply, Request, Upload, given, read, send_file, write
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
    Undone,
    Window,
    Written,
)

OnConflict = Literal["fail", "rebase"]
Tier = Literal["long_term", "session", "journal", "scenes", "messages"]
JSON_PATCH = "application/json-patch+json"


def ask(request: Request) -> Flow[Any]:
    """The JSON of the reply, None where it is empty. Raises ProblemError, UnreadableReply, Unavailable."""
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
    """A page of chats, newest activity first. ``q`` searches titles and text."""
    return ask(read("chats/", q=q, character=character, limit=limit))


def next_chats(page: Page[Chat]) -> Flow[Page[Chat]]:
    """The page after one that has a ``next``. Only its query is used, so that the token goes nowhere else."""
    query = dict(parse_qsl(urlsplit(page["next"] or "").query))
    return ask(Request("GET", "chats/", query))


def create_chat(
    title: str = "",
    *,
    character: str | None = None,
    user_name: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Flow[Chat]:
    body = given(title=title or None, character=character, user_name=user_name, metadata=metadata)
    return ask(write("POST", "chats/", body, key=key))


def get_chat(chat_id: str) -> Flow[Chat]:
    return ask(read(path("chats", chat_id)))


def update_chat(chat_id: str, **fields: Any) -> Flow[Chat]:
    """Change title, character (None for no character) and user_name."""
    return ask(write("PATCH", path("chats", chat_id), fields))


def delete_chat(chat_id: str) -> Flow[None]:
    return ask(write("DELETE", path("chats", chat_id)))


def get_messages(chat_id: str, start: int = 0, limit: int = 50) -> Flow[Window]:
    """A window of up to 200 messages; a negative ``start`` counts from the end."""
    return ask(read(path("chats", chat_id, "messages"), **{"from": start, "limit": limit}))


def branch_chat(
    chat_id: str, at: int, *, title: str | None = None, checkpoint: bool = False, key: str | None = None
) -> Flow[Chat]:
    """A new chat that begins as this one, up to and with the message at index ``at``."""
    body = given(at=at, title=title, checkpoint=checkpoint or None)
    return ask(write("POST", path("chats", chat_id, "branch"), body, key=key))


def import_chat(
    file: BinaryIO, filename: str, *, title: str | None = None, character: str | None = None, key: str | None = None
) -> Flow[Imported]:
    """Send a chat file, read as it goes out: from its beginning, and again where the connection breaks.

    What can't be rewound, such as a pipe, is sent once.
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
    """Add messages at the end; without an integrity behind whatever is there."""
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
    """Change messages: all of the patches, or none."""
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
    """Merge into the metadata (RFC 7396): null deletes a key, arrays are replaced."""
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
    """What was written since a state, named by its integrity or rev. Raises Gone where the log is too short."""
    return ask(read(path("chats", chat_id, "changes"), since=since))


def undo(chat_id: str, *, integrity: str | None = None, key: str | None = None) -> Flow[Undone]:
    """Take back the last write to the messages or the metadata. Raises NothingToUndo."""
    return ask(write("POST", path("chats", chat_id, "undo"), given(integrity=integrity), key=key))


# Message data


def _data(chat_id: str, message_id: str, *more: str) -> str:
    return path("chats", chat_id, "messages", message_id, "data", *more)


def get_data(
    chat_id: str, message_id: str, namespace: str, *, swipe: int | Literal["previous"] | None = None
) -> Flow[dict[str, Any]]:
    """All keys of a namespace; of the active swipe, or of another."""
    return ask(read(_data(chat_id, message_id, namespace), swipe=swipe))


def patch_data(
    chat_id: str,
    message_id: str,
    namespace: str,
    data: Mapping[str, Any],
    *,
    integrity: str,
    clear: Sequence[str] = (),
    on_conflict: OnConflict | None = None,
    key: str | None = None,
) -> Flow[DataWritten]:
    """Set keys, None being stored as null, and delete those in ``clear``."""
    body = given(integrity=integrity, on_conflict=on_conflict, data=data, clear=list(clear) or None)
    return ask(write("PATCH", _data(chat_id, message_id, namespace), body, key=key))


def get_value(
    chat_id: str, message_id: str, namespace: str, name: str, *, swipe: int | Literal["previous"] | None = None
) -> Flow[Any]:
    """One key's value. Raises NotFound where it was never set."""
    document = yield from ask(read(_data(chat_id, message_id, namespace, name), swipe=swipe))
    return document["value"]


def put_value(
    chat_id: str,
    message_id: str,
    namespace: str,
    name: str,
    value: Any,
    *,
    integrity: str | None = None,
    key: str | None = None,
) -> Flow[Written]:
    body = given(integrity=integrity) | {"value": value}
    return ask(write("PUT", _data(chat_id, message_id, namespace, name), body, key=key))


def delete_value(
    chat_id: str, message_id: str, namespace: str, name: str, *, integrity: str | None = None, key: str | None = None
) -> Flow[Written]:
    body = given(integrity=integrity) or None
    return ask(write("DELETE", _data(chat_id, message_id, namespace, name), body, key=key))


# Settings


def get_settings() -> Flow[Settings]:
    return ask(read("settings/"))


def patch_settings(
    settings: Mapping[str, Any], *, integrity: str, on_conflict: OnConflict | None = None, key: str | None = None
) -> Flow[Settings]:
    """Merge into the settings (RFC 7396). With an older integrity it goes through where none of its top-level keys
    was changed since; else, or with ``on_conflict="fail"``, it raises IntegrityConflict."""
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


def assemble_prompt(
    chat_id: str,
    text: str | None = None,
    *,
    character: str | None = None,
    context_tokens: int | None = None,
    history: bool | None = None,
) -> Flow[Prompt]:
    """What to send to a model with the user turn ``text``: memories in slots, with ``history`` the messages, too."""
    body = given(text=text, character=character, context_tokens=context_tokens, history=history)
    return ask(write("POST", path("chats", chat_id, "prompt"), body))
