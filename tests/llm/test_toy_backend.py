"""A backend is a client and an entry in the table of APIs: then it can be connected, tested, asked and counted."""

import json
from collections.abc import Callable

import pytest

from apps.llm.apis import SERVER_APIS, ServerAPI
from apps.llm.backends import backend_for, embedder_for
from apps.llm.backends.connection_check import check_connection
from apps.llm.forms import ConnectionForm
from apps.llm.generation import GenerationRequest
from apps.llm.models import Connection
from apps.llm.usage.limits import usage_today
from tests.llm.scripted_server import Reply, ScriptedServer
from tests.llm.toy_backend import client_of

Connect = Callable[..., Connection]
ASK = GenerationRequest("tests.greet", [{"role": "user", "content": "Say hello."}], max_tokens=50)


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch, connect: Connect, server: ScriptedServer) -> Connection:
    """A connection to a server of the toy API, registered as those of the product are."""
    monkeypatch.setitem(SERVER_APIS, "parrot", ServerAPI("Parrot", client_of, profile="A", is_local=True))
    server.reply_to(
        lambda request: request.path == "/say",
        lambda request: Reply(raw=json.dumps({"said": f"{request.body['line']} Squawk."}).encode()),
    )
    return connect(backend="parrot", base_url=server.url, model="grey")


def test_it_is_asked_and_counted(parrot: Connection, server: ScriptedServer) -> None:
    backend = backend_for(parrot.owner_id)
    assert (backend.name, backend.model, backend.profile) == ("parrot", "grey", "A")
    assert backend.generate(ASK).text == "Say hello. Squawk."
    assert server.requests[-1].body == {"bird": "grey", "line": "Say hello."}
    assert usage_today(parrot.owner_id) == 5


def test_it_makes_vectors(parrot: Connection) -> None:
    assert embedder_for(parrot.owner_id).embed(["one", "three"]).shape == (2, 2)


def test_its_connection_can_be_tested_and_chosen(parrot: Connection) -> None:
    result = check_connection(parrot)
    assert (result.ok, result.error, result.models) == (True, "", ["grey", "green"])
    assert ("parrot", "Parrot") in ConnectionForm().fields["backend"].choices
    assert parrot.get_backend_display() == "Parrot"
