"""The chat pages, as their owner Alice and the stranger Charlie see them, with and without htmx."""

import datetime as dt
import re
import uuid
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.chats import activity, samples
from apps.chats.activity import Activity
from apps.chats.integrity import Guard
from apps.chats.models import Chat, Message
from apps.chats.operations import Patch, append_messages, create_chat, patch_messages
from apps.chats.queries import access_chat, message_window
from tests.factories import UserFactory, make_character, make_chat, parsed

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def alice() -> User:
    return UserFactory(email="alice@example.com", name="Alice")


@pytest.fixture
def as_alice(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def as_charlie() -> Client:
    client = Client()
    client.force_login(UserFactory(email="charlie@example.com"))
    return client


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "The door is *open*.", "Then we go.", "Wait.", character=make_character(alice))


def long_chat(owner: User, count: int) -> Chat:
    return make_chat(owner, *(f"Message number {n}." for n in range(count)))


def texts(chat: Chat) -> list[str]:
    return [message.mes for message in message_window(chat.owner_id, chat.pk, 0, 200).messages]


def shown(page: Any) -> list[int]:
    """The indexes of the messages on a page, in order."""
    return [int(index) for index in re.findall(r'id="m-(\d+)"', page.content.decode())]


def upload(client: Client, *files: tuple[str, bytes]) -> Any:
    uploads = [SimpleUploadedFile(name, content) for name, content in files]
    return client.post(reverse("chats:import"), {"file": uploads}, follow=True)


def told(page: Any) -> list[str]:
    return [str(message) for message in page.context["messages"]]


# The list


def test_a_visitor_sees_what_loci_is() -> None:
    page = Client().get("/")
    assert page.status_code == 200
    assert reverse("account_signup") in page.content.decode()


def test_the_list_shows_title_character_and_last_line(as_alice: Client, chat: Chat) -> None:
    page = as_alice.get("/").content.decode()
    assert "The heist" in page
    assert "Mira" in page
    assert "Wait." in page


def test_the_list_is_ones_own(as_charlie: Client, chat: Chat) -> None:
    page = as_charlie.get("/").content.decode()
    assert "The heist" not in page
    assert reverse("chats:sample") in page


def test_the_list_costs_the_same_for_many_chats(alice: User, as_alice: Client, django_assert_num_queries: Any) -> None:
    for number in range(8):
        make_chat(alice, "One.", "Two.", title=f"Chat {number}")
    with django_assert_num_queries(5):  # session, user, count, chats, runs
        as_alice.get("/")


@pytest.mark.parametrize(("words", "found"), [("HEIST", True), ("we go", True), ("nowhere", False), ("100%", False)])
def test_the_search_finds_titles_and_texts(as_alice: Client, chat: Chat, words: str, found: bool) -> None:
    page = as_alice.get("/", {"q": words}, **HTMX).content.decode()
    assert ("The heist" in page) is found
    assert "<html" not in page


@pytest.mark.parametrize("words", ["\x00", "x" * 500])
def test_words_that_cannot_be_searched_for_are_none(as_alice: Client, chat: Chat, words: str) -> None:
    assert "The heist" in as_alice.get("/", {"q": words}).content.decode()


def test_a_chat_in_which_something_goes_on_has_a_ring(
    as_alice: Client, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "_sources", [lambda owner, ids: {chat.pk: Activity(1, 4)}])
    assert "Remembering, 25 %" in as_alice.get("/").content.decode()
    assert "Remembering, 25 %" in as_alice.get(reverse("chats:activity", args=[chat.pk]), **HTMX).content.decode()


# New, rename, delete


def test_a_new_chat_is_opened(alice: User, as_alice: Client) -> None:
    page = as_alice.post(reverse("chats:new"), {"title": "", "character": "Mira", "user_name": "A"}, follow=True)
    made = Chat.objects.for_owner(alice).get()
    assert (made.title, made.character.name, made.user_name) == ("Mira", "Mira", "A")
    assert page.redirect_chain[-1][0] == reverse("chats:detail", args=[made.pk])


def test_a_title_that_is_too_long_stays_in_the_form(alice: User, as_alice: Client) -> None:
    page = as_alice.post(reverse("chats:new"), {"title": "x" * 201})
    assert page.status_code == 400
    assert "x" * 201 in page.content.decode()
    assert not Chat.objects.for_owner(alice).exists()


def test_renaming(as_alice: Client, chat: Chat, alice: User) -> None:
    as_alice.post(reverse("chats:rename", args=[chat.pk]), {"title": "The vault", "user_name": "Al"})
    renamed = access_chat(alice, chat.pk)
    assert (renamed.title, renamed.user_name) == ("The vault", "Al")


def test_deleting_asks_first(as_alice: Client, chat: Chat, alice: User) -> None:
    url = reverse("chats:delete", args=[chat.pk])
    assert "Delete “The heist”?" in as_alice.get(url).content.decode()
    assert Chat.objects.for_owner(alice).exists()
    as_alice.post(url)
    assert not Chat.objects.for_owner(alice).exists()


# Ownership, sign-in and methods


def routes(chat: Chat, message: Message) -> list[tuple[str, str]]:
    in_chat = {"detail": "get", "window": "get", "write": "post", "rename": "get", "delete": "post", "activity": "get"}
    of_message = {"message": "get", "edit": "post"}
    return [(method, reverse(f"chats:{name}", args=[chat.pk])) for name, method in in_chat.items()] + [
        (method, reverse(f"chats:{name}", args=[chat.pk, message.pk])) for name, method in of_message.items()
    ]


def test_a_stranger_finds_nothing(as_charlie: Client, chat: Chat) -> None:
    for method, url in routes(chat, chat.messages.first()):
        assert getattr(as_charlie, method)(url, {"text": "x"}).status_code == 404
    assert texts(chat) == ["The door is *open*.", "Then we go.", "Wait."]


def test_a_visitor_has_to_sign_in(chat: Chat) -> None:
    for method, url in [*routes(chat, chat.messages.first()), ("post", reverse("chats:import"))]:
        reply = getattr(Client(), method)(url)
        assert reply.status_code == 302
        assert reply["Location"].startswith(reverse("account_login"))


def test_an_unknown_chat_and_a_message_of_another_chat(as_alice: Client, alice: User, chat: Chat) -> None:
    other = make_chat(alice, "Elsewhere.")
    assert as_alice.get(reverse("chats:detail", args=[uuid.uuid4()])).status_code == 404
    assert as_alice.get(reverse("chats:message", args=[other.pk, chat.messages.first().pk])).status_code == 404


@pytest.mark.parametrize(
    ("name", "method"), [("write", "get"), ("detail", "post"), ("window", "post"), ("delete", "put"), ("edit", "put")]
)
def test_other_methods_are_refused(as_alice: Client, chat: Chat, name: str, method: str) -> None:
    args = [chat.pk, chat.messages.first().pk] if name == "edit" else [chat.pk]
    assert getattr(as_alice, method)(reverse(f"chats:{name}", args=args)).status_code == 405


# Import

LINE = b'{"name": "Mira", "is_user": false, "mes": "Hello."}\n'


def test_an_imported_file_is_opened_and_counted(as_alice: Client, alice: User) -> None:
    page = upload(as_alice, ("tea.jsonl", LINE * 2))
    assert page.redirect_chain[-1][0] == reverse("chats:detail", args=[Chat.objects.for_owner(alice).get().pk])
    assert told(page) == ["2 messages imported."]


def test_skipped_lines_are_named(as_alice: Client) -> None:
    page = upload(as_alice, ("tea.jsonl", LINE + b"no json\n" + LINE))
    assert told(page)[0].startswith("2 messages imported. 1 line skipped:\nline 2: ")


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe binary", b"[1, 2]", b"null"])
def test_a_file_that_is_no_chat_is_refused_in_words(as_alice: Client, alice: User, content: bytes) -> None:
    page = upload(as_alice, ("odd.jsonl", content))
    assert page.status_code == 200
    assert told(page)[0].startswith("odd.jsonl was not imported. ")
    assert not Chat.objects.for_owner(alice).exists()


def test_of_several_files_the_good_ones_are_taken(as_alice: Client, alice: User) -> None:
    page = upload(as_alice, ("good.jsonl", LINE), ("bad.jsonl", b"x"))
    assert page.redirect_chain[-1][0] == "/"
    assert len(told(page)) == 2
    assert Chat.objects.for_owner(alice).get().title == "good"


def test_an_import_without_a_file(as_alice: Client) -> None:
    assert told(as_alice.post(reverse("chats:import"), follow=True)) == [
        "No file came with that. Choose one, or drop it on the page."
    ]


def test_a_file_beyond_the_limit(as_alice: Client, settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 10
    assert "larger than 10 bytes" in told(upload(as_alice, ("big.jsonl", LINE)))[0]


def test_the_story_to_look_around_in(as_alice: Client, alice: User) -> None:
    sample = samples.first_sample()
    assert sample is not None
    page = as_alice.post(reverse("chats:sample"), follow=True)
    assert sample.title in page.content.decode()
    assert Chat.objects.for_owner(alice).get().message_count > 100


# Reading


def test_a_chat_opens_at_its_end(as_alice: Client, alice: User) -> None:
    page = as_alice.get(reverse("chats:detail", args=[long_chat(alice, 120).pk]))
    assert shown(page) == list(range(70, 120))
    assert "?before=70" in page.content.decode()
    assert "?after=" not in page.content.decode()


@pytest.mark.parametrize(
    ("at", "first", "last"), [("0", 0, 49), ("60", 52, 101), ("119", 111, 119), ("99999999999999999999", 111, 119)]
)
def test_a_link_opens_the_window_around_its_message(
    as_alice: Client, alice: User, at: str, first: int, last: int
) -> None:
    page = as_alice.get(reverse("chats:detail", args=[long_chat(alice, 120).pk]), {"at": at})
    assert (shown(page)[0], shown(page)[-1]) == (first, last)
    assert "message found" in page.content.decode()


@pytest.mark.parametrize("at", ["-1", "x", "", "1.5", "\x00"])
def test_a_place_that_is_none_is_the_end(as_alice: Client, chat: Chat, at: str) -> None:
    assert shown(as_alice.get(reverse("chats:detail", args=[chat.pk]), {"at": at})) == [0, 1, 2]


def test_windows_follow_each_other_without_gap_or_overlap(as_alice: Client, alice: User) -> None:
    chat = long_chat(alice, 120)
    url = reverse("chats:window", args=[chat.pk])
    earlier = as_alice.get(url, {"before": 70}, **HTMX)
    first = as_alice.get(url, {"before": 20}, **HTMX)
    later = as_alice.get(url, {"after": 101}, **HTMX)
    assert shown(earlier) == list(range(20, 70))
    assert shown(first) == list(range(20))
    assert "?before=" not in first.content.decode()
    assert shown(later) == list(range(102, 120))
    assert "?after=" not in later.content.decode()
    assert 'name="after" value="119"' in later.content.decode()


def test_a_window_without_htmx_leads_to_the_page_around_it(as_alice: Client, chat: Chat) -> None:
    reply = as_alice.get(reverse("chats:window", args=[chat.pk]), {"before": 2})
    assert reply["Location"] == f"{reverse('chats:detail', args=[chat.pk])}?at=2"


@pytest.mark.parametrize("query", [{}, {"before": "x"}, {"after": "9" * 30}, {"before": "-3"}, {"before": "²"}])
def test_a_window_of_nonsense(as_alice: Client, chat: Chat, query: dict[str, str]) -> None:
    assert as_alice.get(reverse("chats:window", args=[chat.pk]), query, **HTMX).status_code == 200


def test_a_date_leads_to_its_first_message(as_alice: Client, alice: User) -> None:
    chat = create_chat(alice, title="Days")
    days = [dt.date(2024, 5, 1) + dt.timedelta(days=number // 10) for number in range(100)]
    append_messages(alice, chat.pk, [parsed("x", send_date=f"{day}T12:00:00Z") for day in days])
    page = as_alice.get(reverse("chats:detail", args=[chat.pk]), {"on": "2024-05-06"})
    assert page.context["at"] == 50
    assert "Monday, 6 May 2024" in page.content.decode()
    assert page.content.decode().count('class="day"') == 6


def test_a_conversation_costs_the_same_for_many_messages(
    as_alice: Client, alice: User, django_assert_num_queries: Any
) -> None:
    short, long = long_chat(alice, 3), long_chat(alice, 120)
    # Session, user, chat; chat, messages, swipes; recalls and their places; chats beside it, their runs.
    for chat in (short, long):
        with django_assert_num_queries(10):
            as_alice.get(reverse("chats:detail", args=[chat.pk]))


def test_hidden_messages_are_folded_and_swipes_counted(as_alice: Client, alice: User) -> None:
    chat = create_chat(alice, title="Odd")
    hidden = parsed("Secret.", is_system=True)
    swiped = parsed("Two.", swipes=["One.", "Two.", "Three."], swipe_id=1)
    append_messages(alice, chat.pk, [hidden, swiped])
    page = as_alice.get(reverse("chats:detail", args=[chat.pk])).content.decode()
    assert "Hidden from the prompt" in page
    assert "‹ 2/3 ›" in page


def test_an_empty_chat_invites(as_alice: Client, alice: User) -> None:
    page = as_alice.get(reverse("chats:detail", args=[create_chat(alice, title="New").pk])).content.decode()
    assert "The first page is blank" in page


# Writing


def write(client: Client, chat: Chat, text: str, **data: Any) -> Any:
    extra = HTMX if data.pop("htmx", True) else {}
    return client.post(reverse("chats:write", args=[chat.pk]), {"text": text, **data}, **extra)


def test_a_message_is_added_and_shown(as_alice: Client, chat: Chat, alice: User) -> None:
    reply = write(as_alice, chat, " Who's there?\r\nTell me. ", after="2", speaker="user")
    added = message_window(alice, chat.pk, 3).messages[0]
    assert (added.mes, added.name, added.is_user) == ("Who's there?\nTell me.", "Alice", True)
    assert added.sent_at is not None
    assert shown(reply) == [3]
    assert reply["HX-Trigger"] == "written"


def test_a_reply_can_be_pasted_as_the_character(as_alice: Client, chat: Chat, alice: User) -> None:
    write(as_alice, chat, "It is me.", after="2", speaker="character")
    added = message_window(alice, chat.pk, 3).messages[0]
    assert (added.name, added.is_user) == ("Mira", False)


def test_what_others_wrote_meanwhile_is_shown_too(as_alice: Client, chat: Chat, alice: User) -> None:
    append_messages(alice, chat.pk, [parsed("From another device.")])
    assert shown(write(as_alice, chat, "Mine.", after="2")) == [3, 4]


def test_the_first_message(as_alice: Client, alice: User) -> None:
    assert shown(write(as_alice, create_chat(alice, title="New"), "Hello.", after="-1")) == [0]


def test_far_from_the_end_the_page_is_opened_anew(as_alice: Client, alice: User) -> None:
    chat = long_chat(alice, 120)
    for after in ("5", "x", ""):
        assert write(as_alice, chat, "Mine.", after=after)["HX-Redirect"] == reverse("chats:detail", args=[chat.pk])


def test_writing_without_htmx(as_alice: Client, chat: Chat) -> None:
    reply = write(as_alice, chat, "Mine.", htmx=False)
    assert reply["Location"] == reverse("chats:detail", args=[chat.pk])
    assert texts(chat)[-1] == "Mine."


@pytest.mark.parametrize("data", [{"text": "  \n"}, {"text": "a\x00b"}, {"text": "Kept.", "speaker": "nobody"}])
def test_a_message_that_cannot_be_added_stays_in_its_field(as_alice: Client, chat: Chat, data: dict[str, str]) -> None:
    reply = write(as_alice, chat, **data)
    page = write(as_alice, chat, **data, htmx=False)
    assert reply.status_code == page.status_code == 400
    assert reply["HX-Retarget"] == "#composer-errors"
    assert "field-error" in reply.content.decode()
    assert data["text"].strip().replace("\x00", "") in page.content.decode().replace("\x00", "")
    assert len(texts(chat)) == 3


# Editing


def edit_url(chat: Chat, index: int) -> str:
    return reverse("chats:edit", args=[chat.pk, chat.messages.get(index=index).pk])


def test_an_edit_in_place(as_alice: Client, chat: Chat) -> None:
    editor = as_alice.get(edit_url(chat, 1), **HTMX).content.decode()
    assert "<html" not in editor
    assert "Then we go.</textarea>" in editor
    reply = as_alice.post(edit_url(chat, 1), {"text": "Then we *run*.", "integrity": chat.integrity}, **HTMX)
    assert texts(chat)[1] == "Then we *run*."
    assert "Then we <em>run</em>." in reply.content.decode()
    assert shown(reply) == [1]


def test_an_edit_without_htmx(as_alice: Client, chat: Chat) -> None:
    assert "<html" in as_alice.get(edit_url(chat, 1)).content.decode()
    reply = as_alice.post(edit_url(chat, 1), {"text": "Then we run.", "integrity": chat.integrity})
    assert reply["Location"].endswith("?at=1#m-1")


def test_line_ends_alone_are_no_change(as_alice: Client, alice: User) -> None:
    chat = make_chat(alice, "One.\r\nTwo.")
    as_alice.post(edit_url(chat, 0), {"text": "One.\r\nTwo.", "integrity": chat.integrity}, **HTMX)
    assert access_chat(alice, chat.pk).rev == chat.rev


def changed_by_another(chat: Chat, index: int, text: str) -> None:
    fresh = access_chat(chat.owner_id, chat.pk)
    patch_messages(chat.owner_id, chat.pk, [Patch({"mes": text}, index=index)], Guard(fresh.integrity))


def test_an_edit_of_another_message_is_no_conflict(as_alice: Client, chat: Chat) -> None:
    changed_by_another(chat, 0, "The door is shut.")
    reply = as_alice.post(edit_url(chat, 1), {"text": "Then we stay.", "integrity": chat.integrity}, **HTMX)
    assert reply.status_code == 200
    assert texts(chat)[:2] == ["The door is shut.", "Then we stay."]


@pytest.mark.parametrize("headers", [HTMX, {}])
def test_a_conflict_shows_both_texts_and_can_be_settled(as_alice: Client, chat: Chat, headers: dict[str, str]) -> None:
    changed_by_another(chat, 1, "Theirs.")
    reply = as_alice.post(edit_url(chat, 1), {"text": "Mine.", "integrity": chat.integrity}, **headers)
    body = reply.content.decode()
    assert reply.status_code == 409
    assert "Theirs.</blockquote>" in body
    assert "Mine.</textarea>" in body
    assert texts(chat)[1] == "Theirs."
    known = re.search(r'name="integrity" value="([^"]+)"', body)
    assert known is not None
    as_alice.post(edit_url(chat, 1), {"text": "Mine.", "integrity": known[1]}, **headers)
    assert texts(chat)[1] == "Mine."


def test_an_edit_from_a_state_that_nobody_knows_is_a_conflict(as_alice: Client, chat: Chat) -> None:
    reply = as_alice.post(edit_url(chat, 1), {"text": "Mine.", "integrity": uuid.uuid4()}, **HTMX)
    assert reply.status_code == 409
    assert "Mine.</textarea>" in reply.content.decode()


@pytest.mark.parametrize("data", [{"text": " "}, {"text": "Mine."}, {"text": "Mine.", "integrity": "x"}])
def test_an_edit_that_cannot_be_saved_keeps_its_text(as_alice: Client, chat: Chat, data: dict[str, str]) -> None:
    reply = as_alice.post(edit_url(chat, 1), data, **HTMX)
    assert reply.status_code == 400
    assert data["text"] in reply.content.decode()
    assert reply["HX-Retarget"] == "#m-1"
    assert texts(chat)[1] == "Then we go."


# Around the pages


def test_pages_hold_no_inline_script_or_style(as_alice: Client, chat: Chat) -> None:
    pages = ["/", reverse("chats:detail", args=[chat.pk]), reverse("chats:new"), edit_url(chat, 0)]
    for url in pages:
        body = as_alice.get(url).content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)", body)
        assert not re.search(r"\sstyle=|\son\w+=|<style", body)


def test_what_is_not_there_has_a_page_of_its_own(as_alice: Client) -> None:
    page = as_alice.get("/nowhere/")
    assert page.status_code == 404
    assert "There is nothing here" in page.content.decode()


def test_the_theme_is_in_the_first_byte(as_alice: Client) -> None:
    reply = as_alice.post(reverse("theme"), {"theme": "dark", "next": "/chats/new/"})
    assert reply["Location"] == "/chats/new/"
    assert '<html lang="en" data-theme="dark">' in as_alice.get("/").content.decode()
    as_alice.post(reverse("theme"), {"theme": "auto"})
    assert '<html lang="en">' in as_alice.get("/").content.decode()


def test_the_theme_leads_nowhere_else(as_alice: Client) -> None:
    assert as_alice.post(reverse("theme"), {"theme": "dark", "next": "https://evil.example/"})["Location"] == "/"
