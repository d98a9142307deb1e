"""Fixtures: a scripted model server, and connections to it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection as database

from apps.accounts.models import User
from apps.llm.http import endpoint
from apps.llm.models import Connection
from apps.llm.operations import create_connection, use_for
from tests.factories import UserFactory
from tests.llm.scripted_server import ScriptedServer

KEY = "sk-secret-0123456789"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer("Hello.") as server:
        yield server


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without delay, unless the server asks for one."""
    monkeypatch.setattr(endpoint, "BACKOFF", 0.001)


@pytest.fixture
def connect(alice: User, server: ScriptedServer) -> Callable[..., Connection]:
    """Return a function that creates a connection of Alice to the server and uses it for both purposes."""

    def connect(**fields: Any) -> Connection:
        given = {
            "name": "Scripted",
            "backend": "openai",
            "base_url": f"{server.url}/v1",
            "api_key": KEY,
            "model": "scripted-small",
            "embedding_model": "scripted-vectors",
            "timeout": 5,
        }
        connection = create_connection(alice, **(given | fields))
        use_for(connection, generation=True, embeddings=True)
        return connection

    return connect


def ciphertext_of(connection: Connection) -> bytes:
    """Return the stored ciphertext of the key."""
    with database.cursor() as cursor:
        cursor.execute("SELECT api_key FROM llm_connection WHERE id = %s", [connection.pk])
        return bytes(cursor.fetchone()[0])
