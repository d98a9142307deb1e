"""What a write over the API costs in statements, and what its message to the workers costs."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.operations import create_token
from apps.chats.tasks import dispatch_chat_committed
from config.celery import app
from tests.factories import UserFactory, make_chat

pytestmark = pytest.mark.django_db(transaction=True)

MESSAGE = {"name": "Alice", "is_user": True, "mes": "The gate is shut."}
# Token, chat, two rows or three, chat, change, notification, task; of an append also the recall that waits for its text
STATEMENTS = {"append": 9, "patch": 9}


@pytest.fixture
def statements() -> Any:
    """A function that returns the statements of the second of two equal writes, without BEGIN and COMMIT."""
    alice = UserFactory()
    chat = make_chat(alice, "The gate is open.")
    client = Client(headers={"Authorization": f"Bearer {create_token(alice, name='test')[1]}"})

    def send(call: str, **body: Any) -> list[str]:
        integrity = str(chat.integrity)
        for number in range(2):  # the first one also records the use of the token
            text = json.dumps({"integrity": integrity, **body}).replace("shut", f"shut {number}")
            with CaptureQueriesContext(connection) as captured:
                reply = client.post(f"/api/v1/chats/{chat.pk}/{call}/", text, content_type="application/json")
            assert reply.status_code in (200, 201)
            integrity = reply.json()["integrity"]
        return [query["sql"] for query in captured if query["sql"] not in ("BEGIN", "COMMIT")]

    return send


@pytest.mark.parametrize(
    ("call", "body"),
    [("append", {"messages": [MESSAGE]}), ("patch", {"patches": [{"index": 0, "set": {"mes": "It is shut."}}]})],
)
def test_a_write_reads_the_chat_once(statements: Any, call: str, body: dict[str, Any]) -> None:
    sent = statements(call, **body)
    assert len([sql for sql in sent if 'FROM "chats_chat"' in sql]) == 1
    assert len(sent) == STATEMENTS[call]


def test_a_message_to_the_workers_survives_a_lost_connection() -> None:
    app.control.purge()
    dispatch_chat_committed.delay()
    with app.producer_pool.acquire(block=True) as producer, connection.cursor() as cursor:
        pool = producer.channel.pgmq.pool
        lost = [pool.getconn() for _ in range(pool.get_stats()["pool_size"])]
        for broker_connection in lost:
            cursor.execute("SELECT pg_terminate_backend(%s)", [broker_connection.info.backend_pid])
            pool.putconn(broker_connection)
        dispatch_chat_committed.apply_async(producer=producer)
        cursor.execute("SELECT count(*) FROM pgmq.q_interactive")
        assert cursor.fetchone() == (2,)
    app.control.purge()
