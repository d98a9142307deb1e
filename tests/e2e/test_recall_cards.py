"""The life of a recall card in a real browser: shown, opened, edited, deleted and undone, run again and compared."""

import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.llm.embeddings import get_embedder
from apps.memories.models import Entity, Memory
from apps.memories.operations.texts import NewVersion, write_version
from apps.prompts.models import Recall
from apps.prompts.operations import recall_turn
from tests.e2e.test_accessibility import DESK, PHONE
from tests.factories import make_character, make_chat, make_memory, parsed

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

QUESTION = 40  # the index of the last message
TOLD = [
    "Whoever holds the silver key may not enter the mill.",
    "Three thieves looked for the silver key last winter.",
    "The silver key opens the chest in the cellar.",
    "A smith copied the silver key for the mayor.",
    "The silver key was paid for with two horses.",
    "Rain washed the mud off the silver key.",
]


@pytest.fixture
def alice(transactional_db) -> User:
    return User.objects.create_user("alice@example.com", welcomed_at=timezone.now())


@pytest.fixture
def chat(alice: User) -> Chat:
    """Return a chat that ends with a question about the key."""
    texts = [f"We walk on for mile {number}." for number in range(QUESTION)]
    return make_chat(alice, *texts, "Where is the silver key?", character=make_character(alice))


@pytest.fixture
def names(alice: User, chat: Chat) -> list[Entity]:
    labels = ["Mira", "Silver key", "Blue stone", "Well", "Uncle"]
    return [Entity.objects.create(owner_id=alice.pk, character=chat.character, name=name) for name in labels]


@pytest.fixture
def memories(chat: Chat, names: list[Entity]) -> list[Memory]:
    first = remember(chat, "Mira hid the silver key under the blue stone.")
    first.entities.add(*names[:3])
    second = remember(chat, "The silver key lies beside the well of her uncle.")
    second.entities.add(names[1], *names[3:])
    return [first, second]


@pytest.fixture
def signed_in(page: Page, alice: User, live_server: LiveServer) -> Iterator[Page]:
    """Return a page on which a script's error, or what the content policy refuses, fails the test."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None)
    client = Client()
    client.force_login(alice)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    yield page
    assert complaints == []


def remember(chat: Chat, text: str) -> Memory:
    embedder = get_embedder()
    return make_memory(chat, text, embedding=embedder.embed([text])[0], embedding_model=embedder.model)


def open_card(page: Page, chat: Chat) -> Locator:
    page.goto(f"/chats/{chat.pk}/")
    page.locator(".recall-summary").last.click()
    expect(page.locator(".recall").last.get_by_text("Text in the prompt")).to_be_visible()
    return page.locator(".recall").last


def test_the_life_of_a_card(signed_in: Page, chat: Chat, memories: list[Memory], alice: User):
    page = signed_in
    recall_turn(chat, chat.messages.with_swipes().last())
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(f"/chats/{chat.pk}/")
    expect(page.locator(".recall-summary").last).to_contain_text("Recalled")
    expect(page.locator("#sync-state [data-words]")).to_have_text("Saved")  # the last of what the page asks for
    assert not [url for url in requested if "/recall/" in url]
    card = open_card(page, chat)
    expect(card).to_contain_text("Mira hid the silver key")

    card.get_by_role("link", name="Edit, re-run or delete").click()
    card.get_by_label("Text in the prompt").fill("word " * 3000)
    expect(card.get_by_role("status")).to_contain_text("used as it is")
    card.get_by_label("Text in the prompt").fill("The key is made of glass.")
    expect(card.get_by_role("status")).not_to_contain_text("used as it is")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_text("edited", exact=True)).to_be_visible()

    card.get_by_role("link", name="Edit, re-run or delete").click()
    card.get_by_role("button", name="Delete").click()
    expect(card).to_contain_text("Recall deleted.")
    card.get_by_role("button", name="Undo").click()
    expect(card.get_by_text("edited", exact=True)).to_be_visible()
    assert Recall.objects.for_owner(alice).get(message__index=QUESTION).text == "The key is made of glass."

    remember(chat, "The silver key has a crack.")
    page.set_viewport_size({"width": 390, "height": 700})
    card.get_by_role("link", name="Edit, re-run or delete").click()
    expect(card.get_by_role("button", name="Re-run")).to_be_in_viewport(ratio=1)
    card.get_by_role("button", name="Re-run").click()
    compared = card.get_by_label("What the re-run changed")
    expect(compared.get_by_role("status")).to_have_text(re.compile(r"^\s*1 came\."))
    expect(compared.get_by_role("status")).to_be_in_viewport()
    expect(compared.locator("ins")).to_contain_text("The silver key has a crack.")
    compared.get_by_role("button", name="Back to the former recall").click()
    expect(card.get_by_text("edited", exact=True)).to_be_visible()
    assert Recall.objects.for_owner(alice).get(message__index=QUESTION).text == "The key is made of glass."


def test_the_names_of_a_card_are_told_on_click_and_by_keyboard(signed_in: Page, chat: Chat, memories: list[Memory]):
    recall_turn(chat, chat.messages.with_swipes().last())
    page = signed_in
    card = open_card(page, chat)
    card.get_by_text("5 names in these memories").click()
    details = card.locator(".recall-name:visible")
    expect(details).to_have_count(0)
    card.get_by_role("link", name=re.compile("^Mira, in 1 memory")).click()
    expect(details).to_contain_text("Mira hid the silver key")
    card.get_by_role("link", name=re.compile("^Uncle, in 1 memory")).focus()
    page.keyboard.press("Enter")
    expect(details).to_have_count(1)
    expect(details).to_contain_text("beside the well of her uncle")
    details.get_by_role("link", name="show the memory").click()
    expect(page.get_by_role("main")).to_contain_text("beside the well of her uncle")


def test_a_card_with_many_names_fits_the_window(
    signed_in: Page, chat: Chat, names: list[Entity], memories: list[Memory]
):
    page = signed_in
    recall_turn(chat, chat.messages.with_swipes().last())
    card = open_card(page, chat)
    card.get_by_text("5 names in these memories").click()
    people = ["Ada", "Bertrand", "Cosima of the Marches", "Dov", "Emmeline", "Fenn"]
    told = [*memories, *(remember(chat, text) for text in TOLD)]
    for number in range(55):
        name = f"{people[number % 6]} {number}"
        entity = Entity.objects.create(owner_id=chat.owner_id, character=chat.character, name=name, kind="character")
        told[number % len(told)].entities.add(entity, names[1])
    recall_turn(chat, chat.messages.with_swipes().last())
    card = open_card(page, chat)
    card.get_by_text("60 names in these memories").click()
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    remember(chat, "The silver key has a crack.")
    card.get_by_role("link", name="Edit, re-run or delete").click()
    card.get_by_role("button", name="Re-run").click()
    expect(card.get_by_label("What the re-run changed")).to_be_visible()


def test_a_repair_note_comes_goes_with_a_cancel_and_with_the_next_reply(signed_in: Page, chat: Chat):
    page = signed_in
    reply = append_messages(chat.owner, chat.pk, [parsed("Mira, who is dead, waves.")]).messages[0]
    page.goto(f"/chats/{chat.pk}/")
    note = page.get_by_role("region", name="Repair note")
    expect(page.locator(".repair")).to_have_count(1)
    expect(note).to_have_count(0)
    write_version(chat, "repair", NewVersion("Let it turn out to be her twin.", last=reply))
    page.evaluate("htmx.trigger(document.body, 'remembered')")  # as the end of a run does
    expect(note).to_contain_text("her twin")
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        expect(note).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    note.get_by_role("link", name="Don’t say it").click()
    expect(note).to_have_count(0)
    write_version(chat, "repair", NewVersion("It was her sister.", last=reply))
    page.reload()
    expect(note).to_contain_text("her sister")
    append_messages(chat.owner, chat.pk, [parsed("Who?", is_user=True), parsed("Her sister.")])
    expect(page.locator(f"#turn-{QUESTION + 3}")).to_contain_text("Her sister.")
    expect(note).to_have_count(0)
