"""Request size of a one-word edit in a chat of 500 messages: as splice, as field, and as the whole chat.

Sizes are of bodies without headers. Targets: at most 300 bytes by splice, 1,500 by field. The requests are executed,
so that a body that the API refuses is not measured.
"""

import json
from typing import Any

from django.test import Client

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.operations import append_messages, create_chat
from apps.exchange.chats.exports import export_jsonl

MESSAGES = 500
# The median reply of a model in long public chats has somewhat over a thousand characters.
SENTENCE = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand. "
REPLY = SENTENCE * 13
EXTRA = {"api": "openai", "model": "a-model", "reasoning": SENTENCE * 6, "token_count": 320}


def _message(number: int) -> ParsedMessage:
    by_user = number % 2 == 0
    text = f"{number} {SENTENCE if by_user else REPLY}"
    extra: dict[str, Any] = {} if by_user else EXTRA
    return ParsedMessage(
        name="Alice" if by_user else "Mira",
        is_user=by_user,
        is_system=False,
        send_date="2026-01-01T00:00:00Z",
        sent_at=None,
        swipe_id=0,
        swipes=(ParsedSwipe(text, extra),),
        layout="",
    )


def main() -> None:
    """Send the edits and print the sizes."""
    owner = User.objects.create_user("bench-request-size@example.com")
    _, secret = create_token(owner, name="bench")
    client = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {secret}"})
    chat = create_chat(owner, title="A long one")
    done = append_messages(owner, chat.pk, [_message(n) for n in range(MESSAGES)])
    edited = done.messages[MESSAGES // 2 + 1]
    text = edited.mes
    at = text.index("bell")
    integrity = str(done.chat.integrity)
    bodies = {
        "splice": {"id": str(edited.pk), "splice": {"at": at, "delete": 4, "insert": "boat"}},
        "field": {"id": str(edited.pk), "set": {"mes": text.replace("bell", "ship", 1)}},
    }
    whole = len(b"".join(export_jsonl(done.chat)))
    print(f"the whole chat, as a full save sends it: {whole:9,} bytes")
    for name, patch in bodies.items():
        body = json.dumps({"integrity": integrity, "patches": [patch]}, separators=(",", ":")).encode()
        reply = client.post(f"/api/v1/chats/{chat.pk}/patch/", body, content_type="application/json")
        assert reply.status_code == 200, reply.content
        integrity = reply.json()["integrity"]
        print(
            f"one word, by {name:6}: {len(body):6,} bytes, 1/{whole // len(body):,} of it; reply {len(reply.content):,}"
        )
