"""What waits too long for the database is answered with a 503, and nothing waits in a transaction."""

from typing import Any

import httpx
import psycopg
import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.operations import create_token
from apps.llm.operations import create_connection
from config.env import with_timeouts
from tests.conftest import WebServer
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat
from tests.llm.scripted_server import ScriptedServer

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_no_transaction_is_open_while_a_model_server_is_called(web_server: WebServer) -> None:
    owner = UserFactory()
    headers = {"Authorization": f"Bearer {create_token(owner, name='test')[1]}", "Idempotency-Key": "k"}
    held: list[int] = []

    def look(request: Any) -> str:
        with psycopg.connect(**_parameters()) as other:
            state = """SELECT count(*) FROM pg_stat_activity
                WHERE state LIKE 'idle in transaction%' AND datname = current_database()"""
            held.append(other.execute(state).fetchone()[0])  # type: ignore[index]
        return "ready"

    with ScriptedServer(look) as server:
        model = create_connection(
            owner, name="A", backend="openai", base_url=f"{server.url}/v1", api_key="k", model="small", timeout=20
        )
        url = f"{web_server.url}/api/v1/connections/{model.pk}/test/"
        assert httpx.post(url, headers=headers, timeout=60).json()["ok"]
    assert set(held) == {0}  # of each request: a test also asks whether the server keeps to forms


def _parameters() -> dict[str, Any]:
    given = connection.get_connection_params()
    return {name: given[name] for name in ("dbname", "user", "password", "host", "port", "options") if name in given}
