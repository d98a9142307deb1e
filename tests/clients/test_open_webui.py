"""The filter function for Open WebUI: it stores what is said, and adds what is remembered."""

import importlib.util
from typing import Any

import pytest

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Character, Chat
from config.env import ROOT
from tests.conftest import WebServer
from tests.coroutines import in_thread
from tests.factories import UserFactory, make_memory
from tests.llm.scripted_server import ScriptedServer, html

pytestmark = pytest.mark.django_db(transaction=True)

MODULE = ROOT / "clients" / "open-webui" / "loci_memory.py"
OPEN = {"chat_id": "ow-1"}
ADA = {"id": "1", "name": "Ada"}


def filter_function(server: WebServer | None, owner: User) -> Any:
    spec = importlib.util.spec_from_file_location("loci_memory", MODULE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.Filter()
    made.valves.loci_url = server.url if server else "http://127.0.0.1:9"
    made.valves.loci_token = create_token(owner, name="test")[1]
    made.valves.timeout = 60
    return made


def message(number: int, text: str) -> dict[str, Any]:
    return {"id": f"m{number}", "role": "user" if number % 2 else "assistant", "content": text, "model": "llama"}


def stored(owner: User) -> list[tuple[bool, list[str], str]]:
    chat = Chat.objects.for_owner(owner).get()
    rows = chat.messages.order_by("index").with_swipes()
    return [(row.is_user, [swipe.mes for swipe in row.swipes.order_by("position")], row.mes) for row in rows]


def outlet(made: Any, *messages: dict[str, Any]) -> None:
    body = OPEN | {"messages": list(messages)}
    assert in_thread(lambda: made.outlet(body, {"name": "Ada"})) == body


def test_turns_edits_and_other_replies_are_stored_as_they_are_shown(web_server: WebServer) -> None:
    ada = UserFactory()
    made = filter_function(web_server, ada)
    outlet(made, message(1, "I live in Kiel."), message(2, "Nice."))
    outlet(made, message(1, "I live in Kiel."), message(2, "Nice."))
    outlet(made, message(1, "I live in Kiel."), message(4, "By the sea!"))
    assert stored(ada) == [
        (True, ["I live in Kiel."], "I live in Kiel."),
        (False, ["Nice.", "By the sea!"], "By the sea!"),
    ]
    again = filter_function(web_server, ada)  # another process finds the chat that was stored
    outlet(again, message(1, "I live in Kiel."), message(2, "Nice."), message(3, "Yes."), message(6, "Good."))
    outlet(again, message(1, "I live in Kiel."), message(2, "Nice."), message(5, "No."), message(8, "Oh."))
    assert [text for _, _, text in stored(ada)] == ["I live in Kiel.", "Nice.", "No.", "Oh."]


def test_what_is_remembered_stands_in_the_next_prompt(web_server: WebServer) -> None:
    ada = UserFactory()
    made = filter_function(web_server, ada)
    outlet(made, message(1, "I live in Kiel."), message(2, "Nice."))
    chat = Chat.objects.for_owner(ada).get()
    make_memory(chat, "Ada builds boats.", pinned=True)
    asked = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "What do I build?"}]
    body = in_thread(lambda: made.inlet({"messages": asked, "model": "llama"}, {"name": "Ada"}, OPEN))
    assert "Ada builds boats." in str(body["messages"])
    assert body["messages"][0]["content"].startswith("Be kind.")
    assert body["messages"][-1]["content"] == "What do I build?"


def test_the_chats_of_a_user_share_a_character_who_is_created_once(web_server: WebServer) -> None:
    ada = UserFactory()
    made = filter_function(web_server, ada)
    for number in range(2):
        body = {"chat_id": f"ow-{number}", "messages": [message(1, "Hello."), message(2, "Hi.")]}
        in_thread(lambda body=body: made.outlet(body, ADA))
    character = Character.objects.for_owner(ada).get()
    assert character.name == "Assistant"
    assert [chat.character_id for chat in Chat.objects.for_owner(ada)] == [character.pk] * 2
    make_memory(Chat.objects.for_owner(ada).earliest("pk"), "Ada builds boats.", pinned=True)
    asked = {"messages": [{"role": "user", "content": "What do I build?"}]}
    metadata = {"chat_id": "ow-new"}
    body = in_thread(lambda: made.inlet(asked, ADA, metadata))
    assert "Ada builds boats." in body["messages"][0]["content"]
    metadata["chat_id"] = "ow-of-another-user"
    assert in_thread(lambda: made.inlet(asked, {"id": "2", "name": "Bob"}, metadata)) == asked
    made.valves.character = ""
    metadata["chat_id"] = "ow-alone"
    assert in_thread(lambda: made.inlet(asked, ADA, metadata)) == asked


def test_without_loci_and_for_tasks_the_request_is_left_as_it_is() -> None:
    told: list[dict[str, Any]] = []

    async def emit(event: dict[str, Any]) -> None:
        told.append(event)

    body = {"messages": [{"role": "user", "content": "Hello."}]}
    made = filter_function(None, UserFactory())
    assert in_thread(lambda: made.inlet(body, {}, OPEN, emit)) == body
    assert "can't be reached" in told[0]["data"]["description"]
    assert in_thread(lambda: made.inlet(body, {}, OPEN | {"task": "title_generation"}, emit)) == body
    for unsaved in ("local:1", "temporary:1", "channel:1"):
        assert in_thread(lambda unsaved=unsaved: made.inlet(body, {}, {"chat_id": unsaved}, emit)) == body
    assert len(told) == 1
    for address in ("no address at all", "http://[", "ftp://x"):
        made.valves.loci_url = address
        assert in_thread(lambda: made.inlet(body, {}, OPEN, emit)) == body
        assert in_thread(lambda: made.outlet(body, {}, OPEN, emit)) == body
    assert len(told) == 7


def test_a_page_in_the_place_of_loci_breaks_no_chat() -> None:
    with ScriptedServer() as server:
        server.reply_to(lambda request: True, html("Sign in"))
        made = filter_function(None, UserFactory())
        made.valves.loci_url = server.url
        body = {"messages": [{"role": "user", "content": "Hello."}]}
        assert in_thread(lambda: made.inlet(body, {}, OPEN)) == body
        assert in_thread(lambda: made.outlet(body, {}, OPEN)) == body
