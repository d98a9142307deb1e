"""A real Open WebUI with the filter function: ``make open-webui``, then ``make e2e-clients``."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Chat, Message
from apps.memories.models import Memory
from config.env import ROOT
from tests.conftest import WebServer
from tests.llm.scripted_server import Request, ScriptedServer
from tests.real_clients.open_webui import OpenWebUI, running, wait_for

PYTHON = os.environ.get("LOCI_TEST_OPEN_WEBUI", "")
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="make open-webui installs Open WebUI, and make e2e-clients sets its Python."),
    pytest.mark.timeout(1800),
]

CODE = (ROOT / "clients" / "open-webui" / "loci_memory.py").read_text()
TURNS = (
    "My sister Mira keeps the lighthouse in Port Salt.",
    "She broke her wrist last Monday.",
    "I moved to Lyon in May, above the bakery in Rue Mercière.",
    "The silver key of the lighthouse hangs in my kitchen.",
    "Tobias must not learn about the key.",
    "I want to build a small boat this winter.",
    "The boat shall be called Kittiwake.",
    "I am allergic to nuts, remember that.",
    "On Friday I take the train to Port Salt.",
    "Wish me luck with the tide.",
)
QUESTION = "Where does the silver key of the lighthouse hang?"


def is_task(request: Request) -> bool:
    return "### Task" in request.prompt


def reply_to(request: Request) -> str:
    return '{"title": "A boat", "tags": ["boat"]}' if is_task(request) else f"Reply number {request.number}."


def stored(owner: User, chat: Chat) -> list[tuple[bool, str]]:
    rows = Message.objects.for_owner(owner).filter(chat=chat).order_by("index")
    return [(row.is_user, row.mes) for row in rows]


def shown(webui: OpenWebUI) -> list[tuple[bool, str]]:
    return [(message["role"] == "user", message["content"]) for message in webui.shown]


def last_asked(upstream: ScriptedServer) -> Request:
    """Return the last request for a reply in a chat."""
    return [request for request in upstream.of_kind("generation") if not is_task(request)][-1]


def test_ten_turns_are_remembered_in_another_chat(
    web_server: WebServer, kept_celery_worker: Callable[..., None], tmp_path: Path
) -> None:
    kept_celery_worker("interactive", "extraction")
    ada = User.objects.create_user("ada@example.com")
    _, secret = create_token(ada, name="Open WebUI")
    with (
        ScriptedServer(reply_to) as upstream,
        running(Path(PYTHON), tmp_path, base_url=f"{upstream.url}/v1") as webui,
    ):
        webui.install_filter(CODE, {"loci_url": web_server.url, "loci_token": secret, "timeout": 60})
        for text in TURNS:
            webui.say(text)
        first = Chat.objects.for_owner(ada).get()
        assert stored(ada, first) == shown(webui)
        assert len(webui.shown) == 20

        old = webui.shown[-1]["content"]
        new = webui.regenerate()
        assert stored(ada, first) == shown(webui)
        last = Message.objects.for_owner(ada).filter(chat=first).with_swipes().latest("index")
        assert [swipe.mes for swipe in last.swipes.order_by("position")] == [old, new]

        learnt = Memory.objects.for_owner(ada).filter(text__contains="silver key")
        wait_for(learnt.exists, 120, "Nothing is learnt of the chat.")
        webui.new_chat()
        webui.say(QUESTION)
        prompt = last_asked(upstream).prompt
        print(prompt)
        assert "silver key of the lighthouse hangs in my kitchen" in prompt
        assert last_asked(upstream).messages[-1] == {"role": "user", "content": QUESTION}
        assert Chat.objects.for_owner(ada).count() == 2, "titles and tags are stored nowhere"
        assert [is_task(request) for request in upstream.of_kind("generation")].count(True) >= 1
        tasks = [request for request in upstream.of_kind("generation") if is_task(request)]
        print(len(upstream.of_kind("generation")), "requests,", len(tasks), "of them tasks")

        web_server.kill()
        webui.say("And what of the boat?")
        assert last_asked(upstream).messages[-1]["content"] == "And what of the boat?"
        web_server.start()
        webui.say("Kittiwake, I mean.")
        second = Chat.objects.for_owner(ada).latest("pk")
        assert stored(ada, second) == shown(webui)
        assert len(webui.shown) == 6
