"""The page of recent changes: what was changed, and its undo, also after signing in again."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, append_messages, patch_messages
from tests.factories import UserFactory, make_character, make_chat, parsed

OWN = Guard(optional=True, writer="a session that has ended")


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(
        alice, "Where is the key?", "Under the *stone*.", "Then let us go.", character=make_character(alice)
    )


def texts(chat: Chat) -> list[str]:
    return [message.mes for message in chat.messages.order_by("index")]


def edit(chat: Chat, index: int, guard: Guard = OWN, **parts: Any) -> None:
    patch_messages(chat.owner, chat.pk, [Patch(index=index, **parts)], guard)


def listed(site: Client, chat: Chat, query: str = "") -> list[str]:
    """Return the titles of the changes, as the page lists them."""
    page = site.get(f"/chats/{chat.pk}/changes/{query}").content.decode()
    return re.findall(r'<a href="/chats/[-\w]+/changes/\d+/">([^<]+)</a>', page)


def opened(site: Client, chat: Chat, number: int = 0) -> str:
    """Return the page of a change, by its place in the list."""
    page = site.get(f"/chats/{chat.pk}/changes/").content.decode()
    shown = site.get(re.findall(r'href="(/chats/[-\w]+/changes/\d+/)"', page)[number]).content.decode()
    return re.sub("</?(del|ins)>", "", shown)  # without the marks of what differs


def undo(site: Client, page: str) -> Any:
    """Send the form of the page of a change."""
    return site.get(site.post(re.search(r'action="(/chats/[-\w]+/undo/\d+/)"', page)[1]).url)


def test_what_was_deleted_before_one_signed_in_again_is_found_and_brought_back(chat: Chat) -> None:
    first, second = Client(), Client()
    for site in (first, second):
        site.force_login(chat.owner)
    first.post(f"/chats/{chat.pk}/messages/{chat.messages.get(index=1).pk}/remove/")
    assert "by another program or device" in second.get(second.post(f"/chats/{chat.pk}/undo/").url).content.decode()
    assert listed(second, chat) == ["Message 1: deleted"]
    page = opened(second, chat)
    assert "Under the *stone*." in page
    assert "The change is undone." in undo(second, page).content.decode()
    assert texts(chat) == ["Where is the key?", "Under the *stone*.", "Then let us go."]


def test_a_refused_undo_leads_to_the_list(site: Client, chat: Chat) -> None:
    edit(chat, 0, values={"mes": "Where?"})
    reply = site.post(f"/chats/{chat.pk}/undo/", follow=True)
    assert reply.redirect_chain[-1][0] == f"/chats/{chat.pk}/changes/"
    assert "by another program or device" in reply.content.decode()
    assert "Message 0: text changed" in reply.content.decode()


def test_the_menu_of_the_chat_leads_to_the_list(site: Client, chat: Chat) -> None:
    assert f'href="/chats/{chat.pk}/changes/"' in site.get(f"/chats/{chat.pk}/").content.decode()


def test_an_empty_list_says_what_it_is_for(site: Client, chat: Chat) -> None:
    assert listed(site, chat) == []
    assert "Nothing was changed lately" in site.get(f"/chats/{chat.pk}/changes/").content.decode()


def test_new_messages_and_what_loci_writes_are_not_listed(site: Client, chat: Chat) -> None:
    append_messages(chat.owner, chat.pk, [parsed("Hello.")], OWN)
    edit(chat, 1, Guard(optional=True), values={"mes": "The rest of a reply."})
    assert listed(site, chat) == []


@pytest.mark.parametrize(
    ("action", "data", "words"),
    [
        ("hide", {}, "hidden from the prompt"),
        ("leave-out", {}, "left out of memory"),
        ("version", {"text": "In the well."}, "version added"),
        ("scene", {"name": "The stone"}, "scene ended"),
        ("move", {"to": 0}, "moved"),
        ("remove", {}, "deleted"),
        ("insert", {"text": "Wait!", "speaker": "character"}, "inserted"),
    ],
)
def test_each_action_on_a_message_is_named_and_undone(
    site: Client, chat: Chat, action: str, data: dict[str, Any], words: str
) -> None:
    before = (texts(chat), chat.messages.get(index=1).is_system, chat.messages.get(index=1).extra)
    site.post(f"/chats/{chat.pk}/messages/{chat.messages.get(index=1).pk}/{action}/", data)
    assert listed(site, chat) == [f"Message 1: {words}"]
    undo(site, opened(site, chat))
    assert (texts(chat), chat.messages.get(index=1).is_system, chat.messages.get(index=1).extra) == before
    assert "Undone" in site.get(f"/chats/{chat.pk}/changes/").content.decode()
    assert "This change was undone." in opened(site, chat)


def test_a_change_of_several_messages_is_one_entry(site: Client, chat: Chat) -> None:
    patch_messages(chat.owner, chat.pk, [Patch(index=0, delete=True), Patch(index=2, delete=True)], OWN)
    assert listed(site, chat) == ["2 messages: deleted"]
    undo(site, opened(site, chat))
    assert len(texts(chat)) == 3


def test_what_was_changed_again_since_has_no_button_until_that_is_undone(site: Client, chat: Chat) -> None:
    edit(chat, 1, values={"mes": "In the well."})
    edit(chat, 1, values={"mes": "In the tower."})
    assert listed(site, chat) == ["Message 1: text changed"] * 2
    earlier = opened(site, chat, 1)
    chat.refresh_from_db()
    assert f'href="/chats/{chat.pk}/changes/{chat.rev}/">The later change' in earlier
    assert "Undo the later change first" in earlier
    assert "Under the *stone*." in earlier
    assert "Undo this change" not in earlier
    undo(site, opened(site, chat, 0))
    assert texts(chat)[1] == "In the well."
    undo(site, opened(site, chat, 1))
    assert texts(chat)[1] == "Under the *stone*."


def test_of_two_deletions_the_earlier_one_leads_to_the_later_one(site: Client, chat: Chat) -> None:
    edit(chat, 2, delete=True)
    edit(chat, 0, delete=True)
    chat.refresh_from_db()
    earlier = opened(site, chat, 1)
    assert "Undo this change" not in earlier
    assert f'href="/chats/{chat.pk}/changes/{chat.rev}/">The later change' in earlier
    for number in (0, 1):
        undo(site, opened(site, chat, number))
    assert len(texts(chat)) == 3


def test_both_texts_of_an_edit_are_shown(site: Client, chat: Chat) -> None:
    edit(chat, 1, values={"mes": "In the well."})
    page = opened(site, chat)
    assert "Under the *stone*." in page
    assert "In the well." in page
    line = site.get(f"/chats/{chat.pk}/changes/").content.decode()
    assert "Under the stone." in re.sub("<ins>.*?</ins>|</?del>", "", line)  # in the list without markup
    edit(chat, 1, values={"mes": "In *the* well."})
    line = site.get(f"/chats/{chat.pk}/changes/").content.decode()
    assert "In <ins>*</ins>the<ins>*</ins> well." in line  # unless nothing else differs


def test_the_authors_note_comes_back(site: Client, chat: Chat) -> None:
    for text in ("Write briefly.", "Write at length."):
        site.post(f"/chats/{chat.pk}/note/", {"text": text, "depth": 4})
    assert listed(site, chat)[0] == "Data of the chat: Author’s note"
    page = opened(site, chat)
    assert "Write briefly." in page
    undo(site, page)
    chat.refresh_from_db()
    assert chat.metadata["note_prompt"] == "Write briefly."


def test_a_program_is_named_by_its_token(site: Client, chat: Chat) -> None:
    _, secret = create_token(chat.owner, name="My phone’s app")
    chat.refresh_from_db()
    body = {"integrity": str(chat.integrity), "patches": [{"index": 0, "set": {"mes": "Where?"}}]}
    reply = Client().post(
        f"/api/v1/chats/{chat.pk}/patch/", body, "application/json", headers={"authorization": f"Bearer {secret}"}
    )
    assert reply.status_code == 200
    assert "by My phone’s app" in site.get(f"/chats/{chat.pk}/changes/").content.decode()
    assert "by My phone’s app" in opened(site, chat)


def test_a_long_list_has_pages(site: Client, chat: Chat) -> None:
    for number in range(21):
        edit(chat, 0, values={"mes": f"Where is key {number}?"})
    assert len(listed(site, chat)) == 20
    assert len(listed(site, chat, "?page=2")) == 1
    assert "Older" in site.get(f"/chats/{chat.pk}/changes/").content.decode()


def test_the_list_costs_as_many_queries_for_any_number_of_changes(
    site: Client, chat: Chat, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        edit(chat, number % 3, values={"mes": f"Where is key {number}?"})
    with django_assert_max_num_queries(14):
        assert len(listed(site, chat)) == 20
