"""Personas and images in the composer, in a browser."""

import base64
import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.models import Chat, ChatImage
from apps.chats.operations import create_persona
from tests.contract.test_personas import photo
from tests.factories import make_chat

pytestmark = pytest.mark.e2e

# Hand an image to the composer, as a paste or as a drop on it.
GIVE = """([kind, name, content]) => {
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0));
  data.items.add(new File([bytes], name, { type: "image/jpeg" }));
  const text = document.querySelector("#composer textarea");
  const box = text.getBoundingClientRect();
  const options = { bubbles: true, cancelable: true, clientX: box.left + 5, clientY: box.top + 5 };
  if (kind === "paste") text.dispatchEvent(new ClipboardEvent("paste", { ...options, clipboardData: data }));
  else document.getElementById("main").dispatchEvent(new DragEvent("drop", { ...options, dataTransfer: data }));
}"""


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice@example.com", name="Alice")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "Hello.", "Come in.")


@pytest.fixture
def room(page: Page, live_server: LiveServer, alice: User, chat: Chat) -> Iterator[Page]:
    """The page of the chat, on which nothing may go wrong unseen."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None)
    for name in ("Alicia", "Bea"):
        create_persona(alice, name=name)
    client = Client()
    client.force_login(alice)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    page.goto(f"/chats/{chat.pk}/")
    yield page
    assert complaints == []


def test_the_menu_of_the_composer_chooses_the_chats_persona(room: Page, chat: Chat) -> None:
    page = room
    with page.expect_response(lambda response: response.request.method == "PATCH") as changed:
        page.get_by_label("Write as").select_option("Bea")
    assert changed.value.json()["user_name"] == "Bea"
    page.get_by_label("Your message").fill("It is me.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#turn-2 .speaker")).to_have_text("Bea")
    expect(page.locator("#turn-2.by-user")).to_be_visible()
    expect(page.locator("#sync-state [data-words]")).to_have_text("Saved")
    page.reload()
    expect(page.get_by_label("Write as").locator("option:checked")).to_have_text("Bea")
    chat.refresh_from_db()
    assert (chat.persona.name, chat.message_count) == ("Bea", 3)


@pytest.mark.parametrize("way", ["choose", "paste", "drop"])
def test_an_image_comes_into_a_message(room: Page, chat: Chat, way: str) -> None:
    page = room
    text = page.get_by_label("Your message")
    text.fill("Look:")
    if way == "choose":
        file = {"name": "the map.jpg", "mimeType": "image/jpeg", "buffer": photo()}
        page.locator("[data-images] input").set_input_files(file)
    else:
        page.evaluate(GIVE, [way, "the map.jpg", base64.b64encode(photo()).decode()])
    expect(text).to_have_value(re.compile(r"^Look:\n!\[the map\]\(image:[^)]+\)\n$"))
    page.get_by_role("button", name="Send").click()
    image = page.locator("#turn-2 .prose img")
    expect(image).to_be_visible()
    expect(image).to_have_attribute("alt", "the map")
    expect(image).to_have_js_property("naturalWidth", 40)
    assert ChatImage.objects.for_owner(chat.owner_id).get().chat_id == chat.pk
    assert page.url.endswith(f"/chats/{chat.pk}/")  # nothing was imported


def test_an_image_that_is_refused_is_told_and_the_text_stays(room: Page, chat: Chat) -> None:
    page = room
    page.get_by_label("Your message").fill("Look:")
    file = {"name": "map.png", "mimeType": "image/png", "buffer": b"<svg/>"}
    page.locator("[data-images] input").set_input_files(file)
    expect(page.locator("#toasts")).to_contain_text("map.png was not uploaded. It is not a PNG")
    expect(page.get_by_label("Your message")).to_have_value("Look:")
