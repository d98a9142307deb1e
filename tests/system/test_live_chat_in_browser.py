"""The web server is killed while somebody writes: the page keeps it, and sends it once the server is back."""

import pytest
from playwright.sync_api import BrowserContext, expect

from apps.chats.models import Chat
from tests.conftest import WebServer
from tests.e2e.test_live_chat import alice, chat, context, edit, open_chat, state, texts, turn

__all__ = ["alice", "chat", "context"]
pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_a_restart_of_the_server_loses_nothing(
    context: BrowserContext,
    web_server: WebServer,
    chat: Chat,
) -> None:
    one, two = open_chat(context, chat), open_chat(context, chat)
    web_server.kill()
    edit(one, 5, "Written meanwhile.")
    expect(state(one)).to_have_text("Offline: 1 change waits on this device")
    web_server.start()
    expect(state(one)).to_have_text("Saved")
    expect(turn(two, 5)).to_contain_text("Written meanwhile.")
    assert texts(chat)[5] == "Written meanwhile."
