"""A real SillyTavern with Loci's extension, and a model server of its own: ``make e2e-clients``."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.sync.sillytavern_extension import extension_archive
from tests.conftest import WebServer
from tests.factories import make_character, make_chat, make_memory
from tests.llm.scripted_server import ScriptedServer
from tests.proxy.conftest import alice, secret, upstream
from tests.real_clients.sillytavern import SillyTavern, running
from tests.real_clients.test_sillytavern import CHARACTER, FACT, MEMBERS, QUESTION, reply_to

__all__ = ["alice", "secret", "upstream"]

PACKAGE = os.environ.get("LOCI_TEST_SILLYTAVERN", "")
pytestmark = pytest.mark.skipif(not PACKAGE, reason="make e2e-clients installs SillyTavern and sets its folder.")

SHOTS = os.environ.get("LOCI_TEST_SHOTS", "")  # a folder for pictures of what the extension shows
TIMEOUT = 180  # seconds
THREE = [*MEMBERS, {"ch_name": "Ilse", "description": "Ilse bakes.", "first_mes": "*Ilse waves.*"}]
EDITED = "The silver key opens the lighthouse of Ys."


def until(holds: Callable[[], Any], about: Callable[[], Any] = lambda: "") -> Any:
    deadline = time.monotonic() + TIMEOUT
    while not (value := holds()):
        assert time.monotonic() < deadline, about()
        time.sleep(0.2)
    return value


def stored(owner: User, chat: Chat) -> list[dict[str, Any]]:
    rows = Message.objects.for_owner(owner).filter(chat=chat).with_swipes().order_by("index")
    return [
        {
            "name": row.name,
            "text": row.mes,
            "isUser": row.is_user,
            "hidden": row.is_system,
            "swipes": [swipe.mes for swipe in row.ordered_swipes],
        }
        for row in rows
    ]


SHOWN = """
() => SillyTavern.getContext().chat.map(({name, mes, is_user, is_system, swipes}) => (
    {name, text: mes, isUser: is_user, hidden: Boolean(is_system), swipes: swipes?.length ? swipes : [mes]}))
"""


def newest(owner: User) -> Chat:
    return Chat.objects.for_owner(owner).latest("pk")


def assert_equal(client: SillyTavern, owner: User, chat: Chat | None = None) -> None:
    """Wait until both have the same messages."""
    shown = client.page.evaluate(SHOWN)

    def both() -> Any:
        return shown, stored(owner, chat or newest(owner)), client.page.locator(".loci-status").inner_text()

    until(lambda: both()[0] == both()[1], both)


def picture(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png")


def connect(client: SillyTavern, secret: str) -> None:
    page = client.page
    page.locator("#extensions-settings-button .drawer-toggle").click()
    page.locator("#loci_settings .inline-drawer-toggle").click()
    page.locator("#loci_token").fill(secret)
    page.locator("#loci_settings").get_by_role("button", name="Connect").click()


@pytest.fixture
def tavern(
    page: Page, web_server: WebServer, upstream: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SillyTavern]:
    """SillyTavern's page, with the extension as this Loci serves it, which lets that page in."""
    upstream.reply_to(lambda request: request.kind == "generation", reply_to)
    archive = extension_archive(web_server.url)
    with running(Path(PACKAGE), tmp_path, base_url=f"{upstream.url}/v1", key="x", extension=archive) as url:
        client = SillyTavern(page, url)
        monkeypatch.setenv("CORS_ORIGINS", url)
        yield client
    web_server.kill()  # the next test starts one that lets nobody in


def test_without_cors_it_says_what_to_set(tavern: SillyTavern, alice: User, secret: str) -> None:
    connect(tavern, secret)
    tavern.page.locator("#extensions-settings-button .drawer-toggle").click()
    tavern.open(CHARACTER)
    status = tavern.page.locator(".loci-status")
    until(lambda: f"CORS_ORIGINS={tavern.url}" in status.inner_text(), status.inner_text)


@pytest.mark.timeout(3600)  # on a busy machine, SillyTavern takes minutes to start
def test_twelve_turns_end_with_equal_chats(
    tavern: SillyTavern, web_server: WebServer, alice: User, upstream: ScriptedServer, secret: str
) -> None:
    """Turns with a swipe, edits, deletions, a hidden one, a card, a branch, an outage with a reload, a group."""
    web_server.kill()
    web_server.start()
    page = tavern.page
    make_memory(make_chat(alice, "Hi", "Hello", character=make_character(alice, CHARACTER)), FACT)
    connect(tavern, secret)
    picture(page, "panel")
    page.locator("#extensions-settings-button .drawer-toggle").click()

    tavern.open(CHARACTER)
    tavern.say("I wake up in the glade.")
    tavern.say("Who are you?")
    tavern.swipe()
    tavern.say("How did I get here?")
    tavern.edit(3, "Tell me who you are.")
    assert_equal(tavern, alice)
    tavern.say(QUESTION)
    sent = upstream.of_kind("generation")[-1].messages
    assert sent[-1]["content"] == QUESTION
    # Lasting memories stand before the conversation.
    (place,) = (n for n, message in enumerate(sent) if FACT in str(message["content"]))
    assert place < [message["role"] for message in sent].index("assistant")
    assert sent[place]["role"] == "system"
    tavern.delete(6)
    tavern.run("/hide 1")
    tavern.say("It is getting dark.")
    assert_equal(tavern, alice)
    first = newest(alice)
    assert first.character is not None
    assert first.character.name == CHARACTER

    edit_card(tavern, upstream, secret)
    picture(page, "card")
    assert_equal(tavern, alice)

    branch(tavern, 4)
    tavern.say("On the branch.")
    until(lambda: newest(alice).pk != first.pk, lambda: status(tavern))
    second = newest(alice)
    assert (second.parent_id, second.parent_index) == (first.pk, 4)
    assert_equal(tavern, alice, second)

    web_server.kill()
    tavern.say("Loci is away.")
    tavern.edit(2, "Tell me, while Loci is away.")
    until(lambda: "can't be reached" in status(tavern), lambda: status(tavern))
    count = tavern.count
    tavern.reload()
    page.evaluate("() => SillyTavern.getContext().selectCharacterById(0)")
    until(lambda: tavern.count == count)
    tavern.say("Still away.")
    picture(page, "away")
    web_server.start()
    assert_equal(tavern, alice, second)

    tavern.make_groups(THREE, ["The mill"])
    tavern.open("The mill")
    for text in ("Good evening.", "Who bakes?", "Who fishes?", "Good night."):
        tavern.say(text)
    assert_equal(tavern, alice)
    group = newest(alice)
    assert sorted(member.name for member in group.participants.all()) == sorted(card["ch_name"] for card in THREE)
    picture(page, "group")
    chats = Chat.objects.for_owner(alice).order_by("pk")
    assert [chat.pk for chat in chats][1:] == [first.pk, second.pk, group.pk]
    said = sum(message["isUser"] for chat in (first, second, group) for message in stored(alice, chat))
    assert said == 5 + 2 + 3 + 4  # with those that the branch has from its chat


def status(client: SillyTavern) -> str:
    return client.page.locator(".loci-status").text_content() or ""


def edit_card(client: SillyTavern, upstream: ScriptedServer, secret: str) -> None:
    """Edit the last turn's card, have it used, run it again, delete it."""

    def card(name: str, text: str) -> str:
        shown = client.page.locator(".loci-card").last
        if text:
            shown.locator("textarea").fill(text)
        shown.get_by_role("button", name=name).click()
        return shown.inner_text()

    def told() -> str:
        return client.page.locator(".loci-card").last.inner_text()

    client.page.locator(".loci-card").last.locator("summary").click()
    card("Save", EDITED)
    until(lambda: "edited" in told(), told)
    client.swipe()
    assert EDITED in upstream.of_kind("generation")[-1].prompt
    card("Run again", "")
    until(lambda: "edited" not in told(), told)
    card("Delete", "")
    until(lambda: "Nothing is recalled" in told(), told)
    client.swipe()
    card("Run again", "")
    until(lambda: "Recalled 1 memory" in told(), told)


def branch(client: SillyTavern, number: int) -> None:
    """Make a branch that ends with a message, which opens it."""
    message = client.page.locator(f'#chat .mes[mesid="{number}"]')
    message.locator(".extraMesButtonsHint").click()
    message.locator(".mes_create_branch").click()
    until(lambda: client.count == number + 1)
