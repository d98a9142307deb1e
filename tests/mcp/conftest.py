"""Alice's memory, asked for by the official client at the web server as `manage.py up` runs it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from apps.accounts.models import User
from apps.accounts.operations import create_token
from tests.conftest import WebServer
from tests.coroutines import in_thread


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com", "alice-password")


@pytest.fixture
def charlie(transactional_db: None) -> User:
    return User.objects.create_user("charlie@example.com")


def secret_of(user: User, **fields: Any) -> str:
    return create_token(user, name="test", **fields)[1]


@asynccontextmanager
async def connected(url: str, secret: str = "", mode: str = "auto", auth: Any = None) -> AsyncIterator[Client]:
    """The official client, signed in by a token or by OAuth."""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    async with (
        httpx2.AsyncClient(headers=headers, auth=auth, trust_env=False, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


class Session:
    """A user's calls, each as a client of its own would make it."""

    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self.secret = secret

    def run(self, work: Callable[[Client], Awaitable[Any]]) -> Any:
        async def connect_and_work() -> Any:
            async with connected(self.url, self.secret) as client:
                return await work(client)

        return in_thread(connect_and_work)

    def raw(self, name: str, **arguments: Any) -> Any:
        return self.run(lambda client: client.call_tool(name, arguments))

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and return its result."""
        result = self.raw(name, **arguments)
        assert not result.is_error, result.content[0].text
        return dict(result.structured_content)

    def refused(self, name: str, **arguments: Any) -> str:
        """Call a tool that refuses it, and return why."""
        result = self.raw(name, **arguments)
        assert result.is_error, result.structured_content
        return str(result.content[0].text)


@pytest.fixture
def session(web_server: WebServer, alice: User) -> Session:
    return Session(web_server.url, secret_of(alice))
