"""Alice's chats on a live server, spoken to by both clients; what gets in between is a proxy that loses things."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from loci_client import AsyncLoci, Loci, RetryPolicy
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.accounts.operations import create_token
from tests.clients.driven import Driven
from tests.clients.unreliable import Proxy, running_proxy
from tests.lanes import further

QUICK = RetryPolicy(first=0.02, longest=0.05, patience=20)
# Certificates, which plain HTTP has none of, would take 20 ms to load.
PLAIN: dict[str, bool] = {"trust_env": False, "verify": False}


@pytest.fixture
def alice(live_server: LiveServer) -> User:
    return User.objects.create_user("alice@example.com", "alice-password")


@pytest.fixture
def token(alice: User) -> str:
    _, secret = create_token(alice, name="test")
    return secret


@pytest.fixture
def proxy(live_server: LiveServer) -> Iterator[Proxy]:
    with running_proxy(live_server.url) as proxy:
        yield proxy


@pytest.fixture
def loci(proxy: Proxy, token: str) -> Iterator[Loci]:
    """The blocking client."""
    with Loci(proxy.url, token, retry=QUICK, http=httpx.Client(**PLAIN)) as client:
        yield client


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


# Of a call that both clients have from the same function, as a test of these says, the gate tries one.
plain_call = pytest.mark.parametrize("client", ["blocking", further("asyncio")], indirect=True)


@pytest.fixture(params=["blocking", "asyncio"])
def client(request: pytest.FixtureRequest, proxy: Proxy, token: str, loci: Loci) -> Iterator[Any]:
    """Either client, called as the blocking one."""
    if request.param == "blocking":
        yield loci
        return
    portal = request.getfixturevalue("portal")
    target = portal.call(lambda: AsyncLoci(proxy.url, token, retry=QUICK, http=httpx.AsyncClient(**PLAIN)))
    yield Driven(portal, target)
    portal.call(target.aclose)


@pytest.fixture
def chat(loci: Loci) -> dict[str, Any]:
    """A chat of three messages."""
    created = loci.create_chat("The heist", user_name="Alice", metadata={"mood": "calm", "lamp": {"lit": False}})
    loci.append(
        created["id"],
        [
            {"name": "Alice", "is_user": True, "mes": "Where is the key?"},
            {"name": "Mira", "mes": "Under the blue stone.", "extra": {"model": "m", "n": 1}},
            {"name": "Alice", "is_user": True, "mes": "Then let us go."},
        ],
    )
    return dict(loci.get_chat(created["id"]))


@pytest.fixture
def messages(loci: Loci, chat: dict[str, Any]) -> Callable[[], list[Any]]:
    """The messages as the server has them."""
    return lambda: list(loci.get_messages(chat["id"], 0, 200)["results"])
