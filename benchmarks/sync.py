"""Append and one-message edit over the API, in a chat of 50 and in one of 20,000 messages.

Both must cost the same: what a write costs must not grow with the chat. Target: a ratio of medians of at most 1.25.
"""

from itertools import count
from typing import Any

from django.test import Client

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.operations import append_messages, create_chat
from benchmarks.timing import interleaved, ratio, summary

SMALL, LARGE, ROUNDS, WARM_UP = 50, 20_000, 200, 20
TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand. " * 4


class Writer:
    """A client that writes to one chat and keeps its integrity."""

    def __init__(self, client: Client, owner: User, size: int) -> None:
        chat = create_chat(owner, title=f"{size} messages")
        messages = [_message(n) for n in range(size)]
        done = append_messages(owner, chat.pk, messages)
        self.client, self.url, self.integrity, self.size = client, f"/api/v1/chats/{chat.pk}", "", size
        self.integrity = str(done.chat.integrity)
        self.numbers = count()

    def append(self) -> None:
        message = {"name": "Alice", "is_user": True, "mes": f"{next(self.numbers)} {TEXT}"}
        self._post("append", {"messages": [message]})

    def edit(self) -> None:
        change = {"index": self.size // 2, "set": {"mes": f"{next(self.numbers)} {TEXT}"}}
        self._post("patch", {"patches": [change]})

    def _post(self, call: str, body: dict[str, Any]) -> None:
        body["integrity"] = self.integrity
        reply = self.client.post(f"{self.url}/{call}/", body, content_type="application/json")
        self.integrity = reply.json()["integrity"]


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
    owner = User.objects.create_user("bench-sync@example.com")
    _, secret = create_token(owner, name="bench")
    client = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {secret}"})
    small, large = Writer(client, owner, SMALL), Writer(client, owner, LARGE)
    for name in ("append", "edit"):
        calls = {"small": getattr(small, name), "large": getattr(large, name)}
        interleaved(calls, WARM_UP)
        times = interleaved(calls, ROUNDS)
        print(f"{name:6} at {SMALL:6} messages: {summary(times['small'])}")
        print(f"{name:6} at {LARGE:6} messages: {summary(times['large'])}")
        print(f"{name:6} ratio of medians {ratio(times['large'], times['small']):.2f} (target: at most 1.25)")
