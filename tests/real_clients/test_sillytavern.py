"""Ten turns in a real SillyTavern whose source "Custom" is the proxy: ``make e2e-clients``, which installs it."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.injection.models import Recall
from apps.llm.models import Connection
from tests.conftest import WebServer
from tests.factories import make_character, make_chat, make_memory
from tests.llm.scripted_server import Request, ScriptedServer
from tests.proxy.conftest import alice, connection, secret, upstream
from tests.real_clients.sillytavern import SillyTavern, running

__all__ = ["alice", "connection", "secret", "upstream"]

PACKAGE = os.environ.get("LOCI_TEST_SILLYTAVERN", "")
pytestmark = pytest.mark.skipif(not PACKAGE, reason="make e2e-clients installs SillyTavern and sets its folder.")

CHARACTER = "Seraphina"  # who comes with SillyTavern
FACT = "The silver key opens the lighthouse."
QUESTION = "Where does the silver key fit?"


def reply_to(request: Request) -> str:
    return f"Reply number {request.number}, as she says with a smile."


def stored_texts(owner: User, count: int) -> list[dict[str, Any]]:
    """Return the messages of the newest chat, when there are ``count``: the last one is stored after its last byte."""
    deadline = time.monotonic() + 20
    while True:
        chat = Chat.objects.for_owner(owner).latest("pk")
        rows = Message.objects.for_owner(owner).filter(chat=chat, is_system=False).with_swipes().order_by("index")
        messages = [{"text": row.mes, "isUser": row.is_user} for row in rows]
        if len(messages) == count or time.monotonic() > deadline:
            return messages
        time.sleep(0.1)


def test_ten_turns_with_changes_end_with_equal_chats(
    page: Page,
    web_server: WebServer,
    alice: User,
    connection: Connection,
    upstream: ScriptedServer,
    secret: str,
    tmp_path: Path,
) -> None:
    earlier = make_chat(alice, "Hi", "Hello", character=make_character(alice, CHARACTER))
    make_memory(earlier, FACT)
    upstream.reply_to(lambda request: request.kind == "generation", reply_to)
    with running(Path(PACKAGE), tmp_path, base_url=f"{web_server.url}/v1", key=secret) as url:
        client = SillyTavern(page, url, CHARACTER)
        client.say("I wake up in the glade.")
        client.say("Who are you?")
        client.swipe()
        client.say("How did I get here?")
        client.edit(3, "Tell me who you are.")
        client.say(QUESTION)
        client.say("Let us walk there.")
        client.delete(6)
        client.delete(5)
        client.say("It is getting dark.")
        client.regenerate()
        client.say("Is it far?")
        client.say("I hear the sea.")
        client.say("There it is.")
        client.say("Good night.")
        shown = client.messages
    assert sum(message["isUser"] for message in shown) == 9  # ten, of which one was deleted
    expected = [{name: message[name] for name in ("text", "isUser")} for message in shown]
    assert stored_texts(alice, len(shown)) == expected
    chats = Chat.objects.for_owner(alice).exclude(pk=earlier.pk)
    assert [chat.character_id for chat in chats] == [earlier.character_id]
    swiped = Message.objects.for_owner(alice).get(chat=chats.get(), index=4)
    assert [swipe.mes for swipe in swiped.ordered_swipes] == shown[4]["swipes"]
    assert len(shown[4]["swipes"]) == 2
    asked = next(request for request in upstream.of_kind("generation") if request.messages[-1]["content"] == QUESTION)
    assert FACT in asked.prompt
    assert Recall.objects.for_owner(alice).filter(message__chat=chats.get(), text__contains=FACT).exists()
