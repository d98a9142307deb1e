"""Fixtures: the web server with a connected, scripted model server, and the OpenAI SDK pointed at it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import DefaultHttpxClient, OpenAI

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Chat, Message
from apps.llm.models import Connection
from apps.llm.operations import create_connection, use_for
from tests.conftest import WebServer
from tests.factories import UserFactory
from tests.llm.scripted_server import ScriptedServer

KEY = "sk-secret-0123456789"


@pytest.fixture
def upstream() -> Iterator[ScriptedServer]:
    with ScriptedServer("Hello.") as server:
        yield server


@pytest.fixture
def alice(web_server: WebServer) -> User:
    return UserFactory()


@pytest.fixture
def connection(alice: User, upstream: ScriptedServer) -> Connection:
    made = create_connection(
        alice,
        name="Scripted",
        backend="openai",
        base_url=f"{upstream.url}/v1",
        api_key=KEY,
        model="scripted-small",
        timeout=2,
    )
    use_for(made, generation=True)
    return made


@pytest.fixture
def secret(alice: User) -> str:
    return create_token(alice, name="SDK")[1]


@pytest.fixture
def client(web_server: WebServer, connection: Connection, secret: str) -> OpenAI:
    # Certificates, which plain HTTP has none of, would take 30 ms to load.
    http = DefaultHttpxClient(verify=False)
    return OpenAI(base_url=f"{web_server.url}/v1", api_key=secret, max_retries=0, http_client=http)


@pytest.fixture
def ask(client: OpenAI) -> Callable[..., Any]:
    """Return a function that sends texts, the user's first, and returns the raw response."""

    def ask(*texts: str, system: str = "", **options: Any) -> Any:
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages += [
            {"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(texts)
        ]
        return client.chat.completions.with_raw_response.create(model="loci", messages=messages, **options)

    return ask


def texts_of(owner: User) -> list[list[str]]:
    """Return the shown texts of each of the owner's chats, oldest first."""
    chats = Chat.objects.for_owner(owner).order_by("pk")
    return [
        [message.mes for message in Message.objects.for_owner(owner).filter(chat=chat).with_swipes().order_by("index")]
        for chat in chats
    ]
