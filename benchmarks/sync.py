"""Append and edit over the API in chats of 50 and 20,000 messages, compared to the same transactions in plain SQL.

Targets: large to small chat at most 1.25 (ratio of medians), API to plain psycopg at most 4.
"""

import json
import uuid
from itertools import count
from typing import Any

import psycopg
from django.db import connection
from django.test import Client

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Chat
from apps.chats.operations import append_messages, create_chat
from apps.common.database.ids import uuid7
from benchmarks.timing import interleaved, ratio, summary

SMALL, LARGE, ROUNDS, WARM_UP = 50, 20_000, 200, 20
TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand. " * 4


def stored_chat(owner: User, size: int) -> Chat:
    """Create a chat with ``size`` messages."""
    chat = create_chat(owner, title=f"{size} messages")
    return append_messages(owner, chat.pk, [_message(n) for n in range(size)]).chat


class Writer:
    """API client that writes to one chat and tracks its integrity."""

    def __init__(self, client: Client, chat: Chat) -> None:
        self.client, self.url = client, f"/api/v1/chats/{chat.pk}"
        self.integrity, self.size = str(chat.integrity), chat.message_count
        self.numbers = count()

    def append(self) -> None:
        """Append a message."""
        message = {"name": "Alice", "is_user": True, "mes": f"{next(self.numbers)} {TEXT}"}
        self._post("append", {"messages": [message]})

    def edit(self) -> None:
        """Edit the message in the middle."""
        change = {"index": self.size // 2, "set": {"mes": f"{next(self.numbers)} {TEXT}"}}
        self._post("patch", {"patches": [change]})

    def _post(self, call: str, body: dict[str, Any]) -> None:
        body["integrity"] = self.integrity
        reply = self.client.post(f"{self.url}/{call}/", body, content_type="application/json")
        self.integrity = reply.json()["integrity"]


class BareWriter:
    """The same transactions in plain SQL, without validation and rendering."""

    def __init__(self, connection: psycopg.Connection, chat: Chat) -> None:
        self.connection, self.chat, self.index = connection, chat, chat.message_count
        self.edited = chat.messages.get(index=chat.message_count // 2)
        self.swipe = self.edited.swipes.get()
        self.numbers = count()

    def append(self) -> None:
        """Append a message."""
        message, swipe = uuid7(), uuid7()
        with self.connection.transaction():
            self._lock()
            self.connection.execute(
                """
                INSERT INTO chats_message (id, owner_id, chat_id, index, rev, name, is_user, is_system, send_date,
                                           sent_at, swipe_id, ends_scene, left_out, withheld, layout,
                                           created_at, updated_at)
                VALUES (%s, %s, %s, %s, 1, 'Alice', true, false, '"2026-01-01T00:00:00Z"', now(), 0, false, false,
                        false, '', now(), now())
                """,
                [message, self.chat.owner_id, self.chat.pk, self.index],
            )
            self.connection.execute(
                """
                INSERT INTO chats_swipe (id, owner_id, message_id, position, mes, extra, info, instance, created_at)
                VALUES (%s, %s, %s, 0, %s, '{}', '{}', '', now())
                """,
                [swipe, self.chat.owner_id, message, f"{next(self.numbers)} {TEXT}"],
            )
            self.index += 1
            self._record("append", message, "{}")

    def edit(self) -> None:
        """Edit the message in the middle."""
        with self.connection.transaction():
            self._lock()
            self.connection.execute(
                "SELECT * FROM chats_message JOIN chats_swipe ON message_id = chats_message.id WHERE message_id = %s",
                [self.edited.pk],
            ).fetchall()
            self.connection.execute(
                "UPDATE chats_swipe SET mes = %s WHERE id = %s", [f"{next(self.numbers)} {TEXT}", self.swipe.pk]
            )
            self.connection.execute(
                "UPDATE chats_message SET rev = rev + 1, updated_at = now() WHERE id = %s", [self.edited.pk]
            )
            self._record("patch", self.edited.pk, json.dumps({"mes": TEXT}))

    def _lock(self) -> None:
        self.connection.execute("SELECT * FROM chats_chat WHERE id = %s FOR UPDATE", [self.chat.pk]).fetchone()

    def _record(self, kind: str, message: uuid.UUID, before: str) -> None:
        integrity = uuid.uuid4()
        self.connection.execute(
            """
            UPDATE chats_chat SET rev = rev + 1, integrity = %s, message_count = %s, last_active = now(),
                                  last_used = now(), updated_at = now()
            WHERE id = %s
            """,
            [integrity, self.index, self.chat.pk],
        )
        self.connection.execute(
            """
            INSERT INTO chats_chatchange (id, owner_id, chat_id, rev, integrity, kind, at, message_ids, deleted_ids,
                                          metadata_replaced, before, reordered, fingerprint, forced, writer)
            SELECT %s, owner_id, id, rev, integrity, %s, now(), %s, '{}', false, %s, false, '', false, ''
            FROM chats_chat WHERE id = %s
            """,
            [uuid7(), kind, [message], before, self.chat.pk],
        )
        self.connection.execute("SELECT pg_notify('loci_live', %s)", [json.dumps({"integrity": str(integrity)})])


def _message(number: int) -> ParsedMessage:
    return ParsedMessage(
        name="Alice" if number % 2 else "Mira",
        is_user=bool(number % 2),
        is_system=False,
        send_date="2026-01-01T00:00:00Z",
        sent_at=None,
        swipe_id=0,
        swipes=(ParsedSwipe(f"{number} {TEXT}"),),
        layout="",
    )


def main() -> None:
    """Measure appends and edits alternately, and print the ratios."""
    owner = User.objects.create_user("bench-sync@example.com")
    _, secret = create_token(owner, name="bench")
    client = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {secret}"})
    small, large = Writer(client, stored_chat(owner, SMALL)), Writer(client, stored_chat(owner, LARGE))
    with psycopg.connect(**connection.get_connection_params() | {"autocommit": True}) as bare_connection:
        bare = BareWriter(bare_connection, stored_chat(owner, SMALL))
        for name in ("append", "edit"):
            calls = {"small": getattr(small, name), "large": getattr(large, name), "bare": getattr(bare, name)}
            interleaved(calls, WARM_UP)
            times = interleaved(calls, ROUNDS)
            print(f"{name:6} at {SMALL:6} messages: {summary(times['small'])}")
            print(f"{name:6} at {LARGE:6} messages: {summary(times['large'])}")
            print(f"{name:6} bare psycopg:       {summary(times['bare'])}")
            print(
                f"{name:6} ratio of medians, large to small {ratio(times['large'], times['small']):.2f} (target: 1.25)"
            )
            print(f"{name:6} ratio of medians, API to bare    {ratio(times['small'], times['bare']):.2f} (target: 4)")
