"""The calls about what belongs to a chat besides its messages: recalls, scenes and snapshots."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from loci_client.calls import ask, path
from loci_client.errors import NotFound
from loci_client.requests import Flow, Request, given, read, write
from loci_client.types import Recall, Restore, Scene, Snapshot, Written


def pages(first: Request) -> Flow[list[Any]]:
    """Return all results of a list. Only the query of a next page is used, so that the token goes to no other host."""
    page = yield from ask(first)
    results: list[Any] = page["results"]
    while page["next"]:
        page = yield from ask(Request("GET", first.path, dict(parse_qsl(urlsplit(page["next"]).query))))
        results += page["results"]
    return results


# Recalls


def _recall(chat_id: str, message_id: str, *more: str) -> str:
    return path("chats", chat_id, "messages", message_id, "recall", *more)


def get_recalls(chat_id: str) -> Flow[list[Recall]]:
    """Return all recalls of a chat, newest first."""
    return pages(read(path("chats", chat_id, "recalls")))


def get_recall(chat_id: str, message_id: str) -> Flow[Recall | None]:
    """Return what was recalled for a message of the user, or None."""
    try:
        return (yield from ask(read(_recall(chat_id, message_id))))
    except NotFound:
        return None


def edit_recall(chat_id: str, message_id: str, text: str, *, key: str | None = None) -> Flow[Recall]:
    """Replace the text of a recall. It is kept until a re-run."""
    return ask(write("PATCH", _recall(chat_id, message_id), {"text": text}, key=key))


def delete_recall(chat_id: str, message_id: str, *, key: str | None = None) -> Flow[None]:
    """Delete a recall. Nothing happens if there is none."""
    try:
        yield from ask(write("DELETE", _recall(chat_id, message_id), key=key))
    except NotFound:
        return


def rerun_recall(chat_id: str, message_id: str, *, key: str | None = None) -> Flow[Recall]:
    """Make the recall of a message again."""
    return ask(write("POST", _recall(chat_id, message_id, "rerun"), key=key))


# Scenes


def get_scenes(chat_id: str) -> Flow[list[Scene]]:
    """Return the scenes that have ended, in the order of the chat."""
    document = yield from ask(read(path("chats", chat_id, "scenes")))
    scenes: list[Scene] = document["results"]
    return scenes


def end_scene(
    chat_id: str,
    message_id: str,
    fields: Mapping[str, Any] | None = None,
    *,
    integrity: str | None = None,
    key: str | None = None,
) -> Flow[Scene]:
    """End a scene with a message. ``fields``: name, visible, collapsed, include and metadata."""
    body = given(integrity=integrity) | {**(fields or {}), "message": message_id}
    document = yield from ask(write("POST", path("chats", chat_id, "scenes"), body, key=key))
    scene: Scene = document["scene"]
    return scene


def change_scene(
    chat_id: str, scene_id: str, fields: Mapping[str, Any], *, integrity: str | None = None, key: str | None = None
) -> Flow[Scene]:
    """Change a scene. ``fields`` as for ``end_scene``, and recap (a new version) or current (the version to use)."""
    body = given(integrity=integrity) | dict(fields)
    document = yield from ask(write("PATCH", path("chats", chat_id, "scenes", scene_id), body, key=key))
    scene: Scene = document["scene"]
    return scene


def remove_scene(chat_id: str, scene_id: str, *, integrity: str | None = None, key: str | None = None) -> Flow[Written]:
    """Have a scene not end there. Nothing happens if none does."""
    body = given(integrity=integrity) or None
    return ask(write("DELETE", path("chats", chat_id, "scenes", scene_id), body, key=key))


# Snapshots


def get_snapshots(*, chat: str | None = None) -> Flow[list[Snapshot]]:
    """Return all snapshots, or those of a chat, newest first."""
    return pages(read("snapshots/", chat=chat))


def get_snapshot(snapshot_id: str) -> Flow[Snapshot]:
    """Return a snapshot, with its state. It can be downloaded and restored once that is ``succeeded``."""
    return ask(read(path("snapshots", snapshot_id)))


def take_snapshot(*, chat: str | None = None, key: str | None = None) -> Flow[Snapshot]:
    """Take a snapshot of a chat or, without one, of the account."""
    return ask(write("POST", "snapshots/", {"chat": chat}, key=key))


def restore_snapshot(snapshot_id: str, *, key: str | None = None) -> Flow[Restore]:
    """Restore a snapshot in the background."""
    return ask(write("POST", path("snapshots", snapshot_id, "restore"), key=key))


def get_restore(snapshot_id: str) -> Flow[Restore]:
    """Return the last restore of a snapshot."""
    return ask(read(path("snapshots", snapshot_id, "restore")))


def delete_snapshot(snapshot_id: str, *, key: str | None = None) -> Flow[None]:
    """Delete a snapshot. Nothing happens if it is gone."""
    try:
        yield from ask(write("DELETE", path("snapshots", snapshot_id), key=key))
    except NotFound:
        return


def download_request(snapshot_id: str) -> Request:
    return read(path("snapshots", snapshot_id, "download"))
