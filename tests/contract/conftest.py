"""Alice owns, Charlie is a stranger; both speak through API tokens."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token


def client_of(user: User, **token: Any) -> APIClient:
    _, secret = create_token(user, name="test", **token)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    client.user = user
    return client


@pytest.fixture
def alice(db: None) -> APIClient:
    return client_of(User.objects.create_user("alice@example.com", "alice-password"))


@pytest.fixture
def charlie(db: None) -> APIClient:
    return client_of(User.objects.create_user("charlie@example.com", "charlie-password"))


@pytest.fixture
def chat(alice: APIClient) -> dict[str, Any]:
    """A chat of Alice's with three messages, as the API shows it."""
    created = alice.post("/api/v1/chats/", {"title": "The heist", "user_name": "Alice"}).json()
    messages = [
        {"name": "Alice", "is_user": True, "mes": "Where is the key?"},
        {"name": "Mira", "mes": "Under the blue stone.", "extra": {"model": "m"}},
        {"name": "Alice", "is_user": True, "mes": "Then let us go."},
    ]
    reply = alice.post(
        f"/api/v1/chats/{created['id']}/append/",
        {"integrity": created["integrity"], "messages": messages},
    )
    assert reply.status_code == 201, reply.content
    return alice.get(f"/api/v1/chats/{created['id']}/").json()
