"""Alice's account with two instances, desk and phone."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from tests.contract.conftest import client_of

NOW = "2026-11-21T10:00:00Z"
LATER = "2026-11-21T11:00:00Z"
KEY = "00000000-0000-7000-8000-000000000001"


@pytest.fixture
def alice(db: None) -> APIClient:
    client = client_of(User.objects.create_user("alice@example.com"))
    for name in ("desk", "phone"):
        assert client.post("/api/v1/instances/", {"id": name, "type": "cli", "name": name.title()}).status_code == 201
    return client


def memory(instance: str, clock: dict[str, int], text: str = "The key is silver.", **fields: Any) -> dict[str, Any]:
    document = {"id": KEY, "tier": "long_term", "text": text, "clock": clock, "instance": instance, "updated_at": NOW}
    return document | fields


def daily(instance: str, clock: dict[str, int], text: str, **fields: Any) -> dict[str, Any]:
    return memory(instance, clock, text, tier="daily", period="2026-11-20") | {"id": KEY} | fields


def file(instance: str, clock: dict[str, int], content: str, at: str = NOW) -> dict[str, Any]:
    names = {"category": "self", "filename": "notes.md", "content": content}
    return names | {"clock": clock, "instance": instance, "updated_at": at}


def tombstone(instance: str, clock: dict[str, int]) -> dict[str, Any]:
    return {"kind": "memory", "id": KEY, "clock": clock, "instance": instance, "at": NOW}


def push(client: APIClient, instance: str, **entries: Any) -> dict[str, Any]:
    reply = try_push(client, instance, **entries)
    assert reply.status_code == 200, reply.content
    return reply.json()


def try_push(client: APIClient, instance: str, clock: dict[str, int] | None = None, **entries: Any) -> Any:
    return client.post("/api/v1/sync/push/", {"instance": instance, "clock": clock or {}} | entries)


def pull(client: APIClient, instance: str, since: dict[str, int] | None = None, query: str = "") -> dict[str, Any]:
    reply = client.post(f"/api/v1/sync/pull/{query}", {"instance": instance, "since": since})
    assert reply.status_code == 200, reply.content
    return reply.json()
