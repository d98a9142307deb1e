"""A backend is a client and an entry in the table of APIs: then it can be connected, tested, asked and counted."""

import json
from collections.abc import Callable

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.llm.apis import SERVER_APIS, ServerAPI
from apps.llm.backends.connection_check import check_connection
from apps.llm.backends.selection import backend_for, embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.forms import ConnectionForm
from apps.llm.generation import GenerationRequest, Misconfigured
from apps.llm.models import Connection
from apps.llm.usage.limits import usage_today
from tests.contract.conftest import client_of as client_of_user
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


def test_a_connection_whose_backend_is_gone_is_told_to_be_changed(parrot: Connection, alice: User) -> None:
    """As after a restore of an archive of an installation that has more backends, or after a way back to another."""
    Connection.objects.for_owner(alice).update(backend="gone")
    parrot.refresh_from_db()
    backend = backend_for(alice)
    assert (backend.name, backend.profile) == ("gone", "B")
    with pytest.raises(Misconfigured, match="kind of server"):
        backend.generate(ASK)
    with pytest.raises(EmbeddingUnavailable, match="kind of server"):
        embedder_for(alice).embed(["one"])
    client, browser = client_of_user(alice), Client()
    reply = client.post(f"/api/v1/connections/{parrot.pk}/test/")
    assert (reply.status_code, reply.json()["ok"]) == (200, False)
    browser.force_login(alice)
    assert [browser.get(path).status_code for path in ("/settings/memory/", "/settings/models/")] == [200, 200]
    assert client.patch(f"/api/v1/connections/{parrot.pk}/", {"backend": "openai"}, format="json").status_code == 200
