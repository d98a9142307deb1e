"""A real SillyTavern whose source "Custom" is the proxy: ``make e2e-clients``, which installs it."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.llm.models import Connection
from apps.prompts.models import Recall
from tests.conftest import WebServer
from tests.factories import make_character, make_chat, make_memory
from tests.llm.scripted_server import Request, ScriptedServer
from tests.proxy.conftest import alice, connection, secret, upstream
from tests.real_clients.sillytavern import SillyTavern, running

__all__ = ["alice", "connection", "secret", "upstream"]

PACKAGE = os.environ.get("LOCI_TEST_SILLYTAVERN", "")
pytestmark = pytest.mark.skipif(not PACKAGE, reason="make e2e-clients installs SillyTavern and sets its folder.")

CHARACTER = "Seraphina"  # who comes with SillyTavern
MEMBERS = [
    {
        "ch_name": "Mira",
        "description": "Mira keeps the lock.",
        "first_mes": "*Mira looks up.* Come in.",
        "mes_example": "<START>\n{{user}}: Is it late?\n{{char}}: It is never late here.",
    },
    {"ch_name": "Old Jörg", "description": "Old Jörg fishes at night.", "first_mes": "*Old Jörg nods.*"},
]
NOTE = "Keep the river in the scene."
LAST = "Never speak for {{user}}. Write as {{char}} alone."
# Each mode of its prompt post-processing, and of its setting "Character Names Behavior": none, default, completion
# object, content. Those with tools process a group's prompt alike.
NONE, DEFAULT, COMPLETION, CONTENT = -1, 0, 1, 2
PROMPTS = [
    ("", DEFAULT),
    ("merge", NONE),
    ("semi", DEFAULT),
    ("semi_tools", CONTENT),
    ("strict", NONE),
    ("strict_tools", COMPLETION),
    ("single", COMPLETION),
]
FACT = "The silver key opens the lighthouse."
QUESTION = "Where does the silver key fit?"


def reply_to(request: Request) -> str:
    return f"Reply number {request.number}, with a smile.\n\nIt has a second paragraph."


def stored_texts(owner: User, count: int) -> list[dict[str, Any]]:
    """Return the messages of the newest chat, when there are ``count``: the last one is stored after its last byte."""
    deadline = time.monotonic() + 20
    while True:
        chat = Chat.objects.for_owner(owner).latest("pk")
        rows = Message.objects.for_owner(owner).filter(chat=chat, is_system=False).with_swipes().order_by("index")
        messages = [{"name": row.name, "text": row.mes, "isUser": row.is_user} for row in rows]
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
        client = SillyTavern(page, url)
        client.open(CHARACTER)
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
    stored = [(row["text"], row["isUser"]) for row in stored_texts(alice, len(shown))]
    assert stored == [(message["text"], message["isUser"]) for message in shown]
    chats = Chat.objects.for_owner(alice).exclude(pk=earlier.pk)
    assert [chat.character_id for chat in chats] == [earlier.character_id]
    swiped = Message.objects.for_owner(alice).get(chat=chats.get(), index=4)
    assert [swipe.mes for swipe in swiped.ordered_swipes] == shown[4]["swipes"]
    assert len(shown[4]["swipes"]) == 2
    asked = next(request for request in upstream.of_kind("generation") if request.messages[-1]["content"] == QUESTION)
    assert FACT in asked.prompt
    assert Recall.objects.for_owner(alice).filter(message__chat=chats.get(), text__contains=FACT).exists()


def test_a_group_is_one_chat_whose_messages_have_their_speakers(
    page: Page,
    web_server: WebServer,
    alice: User,
    connection: Connection,
    upstream: ScriptedServer,
    secret: str,
    tmp_path: Path,
) -> None:
    """In each mode: turns of the user and both members, a swipe, edits, a regeneration, a member who is triggered."""
    earlier = make_chat(alice, "Hi", "Hello", character=make_character(alice, "Mira"))
    make_memory(earlier, FACT)
    upstream.reply_to(lambda request: request.kind == "generation", reply_to)
    names = [member["ch_name"] for member in MEMBERS]
    wrong: dict[str, Any] = {}
    with running(Path(PACKAGE), tmp_path, base_url=f"{web_server.url}/v1", key=secret) as url:
        client = SillyTavern(page, url)
        client.make_groups(MEMBERS, [f"Group {number}" for number in range(len(PROMPTS))])
        for number, (mode, behavior) in enumerate(PROMPTS):
            client.open(f"Group {number}")
            client.set_prompt(mode, behavior, LAST)
            client.run(f"/note {NOTE} | /note-depth 2 | /note-frequency 1")
            began = len(upstream.requests)
            client.say(f"I wake up in glade {number}.")
            client.say(f"Who are you in glade {number}?")
            client.swipe()
            client.edit(2, f"I woke up in glade {number}.")
            client.edit(3, f"You did, in glade {number}.")
            client.say(f"{number}: {QUESTION}")
            client.regenerate()
            client.trigger(names[1])
            client.say(f"Good night in glade {number}.")
            shown = client.messages
            stored = stored_texts(alice, len(shown))
            if [row["text"] for row in stored] != [message["text"] for message in shown]:
                wrong[f"texts in {mode}, {behavior}"] = stored
            first = 0 if behavior != NONE else len(names)  # whose greetings these are, no prompt tells
            if [row["name"] for row in stored][first:] != [message["name"] for message in shown][first:]:
                wrong[f"names in {mode}, {behavior}"] = [row["name"] for row in stored]
            chats = Chat.objects.for_owner(alice).exclude(pk=earlier.pk)
            if chats.count() != number + 1:
                wrong[f"chats in {mode}, {behavior}"] = chats.count()
            swiped = Message.objects.for_owner(alice).filter(chat=chats.latest("pk"), index=7).first()
            if swiped is None or [swipe.mes for swipe in swiped.ordered_swipes] != shown[7]["swipes"]:
                wrong[f"swipes in {mode}, {behavior}"] = swiped and [swipe.mes for swipe in swiped.ordered_swipes]
            asked = [
                request.prompt for request in upstream.requests[began:] if f"{number}: {QUESTION}" in request.prompt
            ]
            if FACT not in asked[0] or FACT in asked[1]:
                wrong[f"memory in {mode}, {behavior}"] = asked
    assert not wrong
