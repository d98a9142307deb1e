"""Convert requests and replies to and from httpx, for both clients."""

from typing import Any

import httpx

from loci_client.requests import Reply, Request

API = "/api/v1/"
TIMEOUT = httpx.Timeout(connect=5.0, read=30.0, write=30.0, pool=30.0)
UPLOAD_TIMEOUT = httpx.Timeout(connect=5.0, read=600.0, write=60.0, pool=30.0)
# The server sends a comment every 15 seconds.
EVENTS_TIMEOUT = httpx.Timeout(connect=5.0, read=40.0, write=30.0, pool=30.0)
POLL_EVERY = 5.0  # seconds, if there is no stream of events


def address(base_url: str) -> str:
    return base_url.rstrip("/") + API


def arguments(request: Request, base: str, token: str) -> dict[str, Any]:
    """Return the arguments of ``httpx.Client.request``."""
    result: dict[str, Any] = {
        "method": request.method,
        "url": base + request.path,
        "params": dict(request.query),
        "headers": {"Accept": "application/json", **request.headers, "Authorization": f"Bearer {token}"},
        "timeout": UPLOAD_TIMEOUT if request.upload else TIMEOUT,
    }
    if request.content is not None:
        result["content"] = request.content
    if request.upload is not None:
        if request.repeatable:
            request.upload.file.seek(0)
        result["files"] = {"file": (request.upload.filename, request.upload.file)}
        result["data"] = dict(request.upload.fields)
    return result


def reply_of(response: httpx.Response) -> Reply:
    """Return the reply for a response whose content has been read."""
    return Reply(response.status_code, response.headers, response.content)


def events_request(chat_id: str) -> Request:
    return Request("GET", "events/", {"chat": chat_id}, {"Accept": "text/event-stream", "Cache-Control": "no-store"})
