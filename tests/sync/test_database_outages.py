"""A restart of the database costs retries; what waits too long is answered with a 503."""

import threading
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.operations import create_token
from apps.chats.models import Message
from apps.llm.operations import create_connection
from config.env import with_timeouts
from tests.conftest import WebServer
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat
from tests.llm.scripted_server import ScriptedServer

pytestmark = pytest.mark.django_db(transaction=True)

END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
    AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""


def test_no_request_fails_and_no_write_is_lost_or_doubled_while_connections_are_ended(web_server: WebServer) -> None:
    owner = UserFactory()
    chat = make_chat(owner)
    headers = {"Authorization": f"Bearer {create_token(owner, name='test')[1]}"}
    statuses: dict[str, list[int]] = {"read": [], "keyed": [], "plain": []}
    stored: list[str] = []
    done = threading.Event()

    def send(kind: str) -> None:
        with httpx.Client(base_url=f"{web_server.url}/api/v1/chats/", headers=headers, timeout=60) as client:
            while not done.is_set():
                text = f"{kind} {uuid4()}"
                if kind == "read":
                    reply = client.get(f"{chat.pk}/messages/")
                else:
                    key = {"Idempotency-Key": text} if kind == "keyed" else {}
                    body = {"force": True, "message": {"mes": text, "is_user": True}}
                    reply = client.post(f"{chat.pk}/append/", json=body, headers=key)
                    if reply.status_code == 201:
                        stored.append(text)
                statuses[kind].append(reply.status_code)

    threads = [threading.Thread(target=send, args=[kind]) for kind in statuses]
    for thread in threads:
        thread.start()
    for _ in range(12):
        done.wait(0.25)
        with connection.cursor() as cursor:
            cursor.execute(END_OTHERS)
    done.set()
    for thread in threads:
        thread.join()

    assert set(statuses["read"]) == {200}
    assert set(statuses["keyed"]) == {201}
    assert set(statuses["plain"]) <= {201, 503}
    texts = list(Message.objects.for_owner(owner).filter(chat=chat).with_swipes().values_list("swipes__mes", flat=True))
    assert len(texts) == len(set(texts))
    assert set(stored) <= set(texts)


def test_a_write_that_waits_too_long_for_another_is_a_503() -> None:
    alice: APIClient = client_of(UserFactory())
    chat = make_chat(alice.user)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
    try:
        with psycopg.connect(**_parameters()) as other:
            other.execute("SELECT 1 FROM chats_chat FOR UPDATE")
            reply = alice.post(f"/api/v1/chats/{chat.pk}/append/", {"force": True, "message": {"mes": "x"}})
    finally:
        connection.close()
    assert (reply.status_code, reply.json()["type"]) == (503, "/problems/unavailable")
    assert reply["Retry-After"] == "2"


def test_timeouts_reach_the_server() -> None:
    database = with_timeouts(connection.settings_dict, {"statement_timeout": 1.5, "lock_timeout": 0})
    with psycopg.connect(**_parameters() | {"options": database["OPTIONS"]["options"]}) as other:
        assert other.execute("SHOW statement_timeout").fetchone() == ("1500ms",)
        assert other.execute("SHOW lock_timeout").fetchone() == ("0",)


def _parameters() -> dict[str, Any]:
    given = connection.get_connection_params()
    return {name: given[name] for name in ("dbname", "user", "password", "host", "port", "options") if name in given}


def test_no_transaction_is_open_while_a_model_server_is_called(web_server: WebServer) -> None:
    owner = UserFactory()
    headers = {"Authorization": f"Bearer {create_token(owner, name='test')[1]}", "Idempotency-Key": "k"}
    held: list[int] = []

    def look(request: Any) -> str:
        with psycopg.connect(**_parameters()) as other:
            state = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
            held.append(other.execute(state).fetchone()[0])  # type: ignore[index]
        return "ready"

    with ScriptedServer(look) as server:
        model = create_connection(
            owner, name="A", backend="openai", base_url=f"{server.url}/v1", api_key="k", model="small", timeout=20
        )
        url = f"{web_server.url}/api/v1/connections/{model.pk}/test/"
        assert httpx.post(url, headers=headers, timeout=60).json()["ok"]
    assert held == [0]
