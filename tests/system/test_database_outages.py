"""A request whose connection is lost, or that waits too long is answered with a 503."""

import threading
import time
from uuid import uuid4

import httpx
import pytest
from django.db import connection

from apps.accounts.operations import create_token
from apps.chats.models import Message
from tests.conftest import WebServer
from tests.factories import UserFactory, make_chat

pytestmark = pytest.mark.django_db(transaction=True)

END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
    AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""


def test_requests_succeed_or_get_a_503_and_no_write_is_lost_or_doubled_while_connections_are_ended(web_server: WebServer) -> None:
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
    before, deadline = len(stored), time.monotonic() + 60
    while len(stored) == before and time.monotonic() < deadline:
        time.sleep(0.05)  # writes succeed again once nothing ends their connections
    done.set()
    for thread in threads:
        thread.join()

    assert set(statuses["read"]) <= {200, 503}
    assert set(statuses["keyed"]) <= {201, 503}
    assert set(statuses["plain"]) <= {201, 503}
    assert len(stored) > before
    texts = list(Message.objects.for_owner(owner).filter(chat=chat).with_swipes().values_list("swipes__mes", flat=True))
    assert len(texts) == len(set(texts))
    assert set(stored) <= set(texts)
