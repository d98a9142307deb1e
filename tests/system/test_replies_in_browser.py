"""The web server is killed while a reply is written: the worker goes on, and the page shows the reply."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.replies.models import Generation
from tests.conftest import WebServer
from tests.e2e.test_live_chat import device
from tests.e2e.test_replies import (
    STORY,
    alice,
    chat,
    connect,
    expect_coming,
    expect_whole,
    open_chat,
    send,
    server,
    slow,
)
from tests.llm.scripted_server import ScriptedServer

__all__ = ["alice", "chat", "connect", "server"]
pytestmark = [pytest.mark.e2e, pytest.mark.worker, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def context(
    browser: Browser,
    web_server: WebServer,
    alice: User,
    connect: Callable[..., object],
    kept_celery_worker: Callable[..., None],
) -> Iterator[BrowserContext]:
    connect()
    kept_celery_worker("replies")
    with device(browser, web_server, alice) as context:
        yield context


def test_a_reply_survives_the_web_process(
    context: BrowserContext,
    chat: Chat,
    server: ScriptedServer,
    web_server: WebServer,
) -> None:
    reply = slow()
    server.reply_with(reply)
    page, other = open_chat(context, chat), open_chat(context, chat)
    send(page, "Show me.")
    for tab in (page, other):
        expect_coming(tab, 3)
    web_server.kill()
    web_server.start()
    page.close()
    page = open_chat(context, chat)
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    reply.hurry.set()
    expect_whole(page, 3)
    expect_whole(other, 3)
    assert Generation.objects.for_owner(chat.owner_id).get().state == "succeeded"
    assert chat.messages.get(index=3).mes == STORY
