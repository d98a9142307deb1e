"""The chat pages: the owner reads and writes, a stranger finds nothing, and what can't be done is said."""

import json
import re
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.chats.locking import NO_INTEGRITY, Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, add_participant, append_messages, patch_messages
from apps.chats.queries import access_chat, message_window
from tests.factories import UserFactory, make_character, make_chat, parsed

HTMX = {"HTTP_HX_REQUEST": "true"}
HOUR = 3_600_000  # milliseconds
NOON = 1_700_049_600_000  # of 15 November 2023
LINES = [
    {"user_name": "Alice", "character_name": "Mira", "chat_metadata": {}},
    {"name": "Alice", "is_user": True, "mes": "Where is the key?"},
    {"name": "Mira", "is_user": False, "mes": "Under the blue stone."},
]


@pytest.fixture
def alice(db) -> User:
    return UserFactory(email="alice@example.com")


@pytest.fixture
def stranger(db) -> Client:
    client = Client()
    client.force_login(UserFactory())
    return client


@pytest.fixture
def chat(alice) -> Chat:
    return make_chat(alice, "Where is the key?", "Under the *blue* stone.", character=make_character(alice))


@pytest.fixture
def long_chat(alice) -> Chat:
    return make_chat(alice, *[f"This is turn {number}." for number in range(120)], title="The long road")


def lines(*documents) -> bytes:
    return "\n".join(json.dumps(document) for document in documents).encode()


def upload(site, content: bytes, name: str = "The heist.jsonl", **extra):
    return site.post("/chats/import/", {"file": SimpleUploadedFile(name, content)}, **extra)


def indexes(html: str) -> list[int]:
    return [int(index) for index in re.findall(r'id="turn-(\d+)"', html)]


def text_of(owner, chat, index: int) -> str:
    return message_window(owner, chat.pk, index, 1).messages[0].mes


def url_of(message, action: str = "") -> str:
    return f"/chats/{message.chat_id}/messages/{message.pk}/{action}"


# Who may come in


@pytest.mark.parametrize(("mode", "is_offered"), [("open", True), ("invitation", False), ("closed", False)])
def test_who_is_not_signed_in_sees_what_loci_is_and_how_to_come_in(db, settings, mode, is_offered):
    settings.SIGN_UP = mode
    html = Client().get("/").content.decode()
    assert "Sign in" in html
    assert ("Create an account" in html) is is_offered


@pytest.mark.parametrize("path", ["", "window/", "rename/", "delete/", "activity/"])
def test_who_is_not_signed_in_is_asked_to(chat, path):
    reply = Client().get(f"/chats/{chat.pk}/{path}")
    assert reply.status_code == 302
    assert reply["Location"].startswith("/accounts/login/?next=")


@pytest.mark.parametrize("path", ["", "window/", "rename/", "delete/", "activity/"])
def test_a_stranger_finds_nothing(chat, stranger, path):
    assert stranger.get(f"/chats/{chat.pk}/{path}").status_code == 404
    assert stranger.get(f"/chats/{uuid4()}/{path}").status_code == 404


def test_a_stranger_writes_nothing(alice, chat, stranger):
    message = chat.messages.first()
    for path in ("write/", "rename/", "delete/", f"messages/{message.pk}/edit/"):
        assert stranger.post(f"/chats/{chat.pk}/{path}", {"text": "x", "title": "x"}).status_code == 404
    assert access_chat(alice, chat.pk).rev == chat.rev
    assert "The heist" not in stranger.get("/").content.decode()


def test_methods(chat, site):
    assert site.get(f"/chats/{chat.pk}/write/").status_code == 405
    assert site.get("/chats/import/").status_code == 405
    assert site.post(f"/chats/{chat.pk}/").status_code == 405


def test_a_post_needs_the_token_of_its_form(alice, chat):
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(alice)
    assert careful.post(f"/chats/{chat.pk}/write/", {"text": "x"}).status_code == 403


# The list


def test_the_list_shows_the_last_line(chat, site):
    html = site.get("/").content.decode()
    assert "The heist" in html
    assert "Under the blue stone." in html
    assert "Mira" in html


def test_the_last_line_is_looked_up_whatever_the_statistics_say(alice, chat):
    plan = Chat.objects.for_owner(alice).with_last_text().explain()
    assert not re.search("Join|Nested Loop", plan)


def test_an_empty_list_invites(site):
    html = site.get("/").content.decode()
    assert "Choose a file" in html
    assert "Start a chat" in html


def test_search_finds_titles_and_words(chat, long_chat, site):
    assert "The long road" not in site.get("/?q=BLUE").content.decode()
    assert "The heist" in site.get("/?q=heist").content.decode()
    nothing = site.get("/?q=<b>dragon", **HTMX).content.decode()
    assert "&lt;b&gt;dragon" in nothing
    assert "<html" not in nothing
    assert site.get("/?q=%00").status_code == 200


def test_more_chats_are_shown_on_demand(alice, site):
    for number in range(41):
        make_chat(alice, title=f"Chat {number}")
    first = site.get("/").content.decode()
    assert first.count('class="shelf-row"') == 40
    assert "page=2" in first
    assert site.get("/?page=2", **HTMX).content.decode().count('class="shelf-row"') == 1


def test_the_list_costs_the_same_with_more_chats(alice, site, django_assert_max_num_queries):
    for number in range(12):
        make_chat(alice, "One.", "Two.", title=f"Chat {number}")
    site.get("/theme/")  # the first request of a session also writes when it was used
    with django_assert_max_num_queries(6):
        site.get("/")
    for number in range(5):
        make_group(alice, f"Mira {number}", f"Salt {number}", "Tam")
    with django_assert_max_num_queries(7):  # one more names the members of all groups
        assert "Mira 4, Salt 4 and Tam" in site.get("/").content.decode()


# Start, rename, delete


def test_a_chat_is_started(alice, site):
    reply = site.post("/chats/new/", {"title": "", "character": "Mira", "user_name": "Al"}, follow=True)
    chat = Chat.objects.for_owner(alice).get()
    assert (chat.title, chat.character.name, chat.user_name) == ("Mira", "Mira", "Al")
    assert "No messages yet" in reply.content.decode()


def test_what_is_too_long_stays_in_the_field(alice, site):
    reply = site.post("/chats/new/", {"title": "x" * 201})
    assert reply.status_code == 400
    assert "x" * 201 in reply.content.decode()
    assert not Chat.objects.for_owner(alice).exists()


def test_a_chat_is_renamed(alice, chat, site):
    assert 'value="The heist"' in site.get(f"/chats/{chat.pk}/rename/").content.decode()
    assert site.post(f"/chats/{chat.pk}/rename/", {"title": " "}).status_code == 400
    site.post(f"/chats/{chat.pk}/rename/", {"title": "The key", "user_name": "Al"})
    renamed = access_chat(alice, chat.pk)
    assert (renamed.title, renamed.user_name) == ("The key", "Al")


@pytest.mark.parametrize(
    "labels", [("Undo the last change", "Snapshots …"), ("Memory book", "Next prompt")], ids=["past", "book"]
)
def test_actions_of_the_menu_that_differ_have_different_icons(chat, site, labels):
    menu = site.get(f"/chats/{chat.pk}/").content.decode().split('aria-label="More about this chat"')[1]
    icons = [re.search(rf'<svg class="icon"((?:(?!</svg>).)*)</svg>\s*{label}', menu, re.S)[1] for label in labels]
    assert icons[0] != icons[1]


def test_a_chat_is_deleted_after_a_question(alice, chat, site):
    assert "Delete “The heist”?" in site.get(f"/chats/{chat.pk}/delete/").content.decode()
    assert Chat.objects.for_owner(alice).exists()
    reply = site.post(f"/chats/{chat.pk}/delete/", follow=True)
    assert "“The heist” is deleted." in reply.content.decode()
    assert f'action="/chats/{chat.pk}/restore/"' in reply.content.decode()  # the toast offers to undo it
    assert not Chat.objects.for_owner(alice).exists()


def test_a_deleted_chat_is_listed_and_restored(alice, chat, site):
    assert "No deleted chats" in site.get("/chats/deleted/").content.decode()
    site.post(f"/chats/{chat.pk}/delete/")
    html = site.get("/chats/deleted/").content.decode()
    assert "The heist" in html
    assert f"/chats/{chat.pk}/purge/" in html
    reply = site.post(f"/chats/{chat.pk}/restore/", follow=True)
    assert "“The heist” is back." in reply.content.decode()
    assert Chat.objects.for_owner(alice).exists()


def test_a_deleted_chat_is_purged_after_a_question(alice, chat, site):
    assert site.get(f"/chats/{chat.pk}/purge/").status_code == 404
    site.post(f"/chats/{chat.pk}/delete/")
    assert "Delete “The heist” for good?" in site.get(f"/chats/{chat.pk}/purge/").content.decode()
    assert Chat.in_bin.for_owner(alice).exists()
    site.post(f"/chats/{chat.pk}/purge/")
    assert not Chat.in_bin.for_owner(alice).exists()


def test_the_question_offers_to_keep_what_the_character_learnt(alice, site):
    chat = make_chat(alice, "Hello.", character=make_character(alice))
    assert "Keep what Mira learnt" in site.get(f"/chats/{chat.pk}/delete/").content.decode()
    site.post(f"/chats/{chat.pk}/delete/", {"keep_memories": "on"})
    assert "What Mira learnt stays in use." in site.get("/chats/deleted/").content.decode()


# Import


def test_a_file_becomes_a_chat(alice, site):
    reply = upload(site, lines(*LINES))
    chat = Chat.objects.for_owner(alice).get()
    assert reply["Location"] == f"/chats/{chat.pk}/"
    html = site.get(reply["Location"]).content.decode()
    assert "2 messages imported." in html
    assert "Under the blue stone." in html


def test_a_dropped_file_leads_to_its_chat(alice, site):
    reply = upload(site, lines(*LINES), **HTMX)
    assert reply["HX-Redirect"] == f"/chats/{Chat.objects.for_owner(alice).get().pk}/"


def test_broken_lines_are_told(site):
    reply = upload(site, lines(*LINES) + b'\n{"name": "Mira", "mes": "cut')
    html = site.get(reply["Location"]).content.decode()
    assert "2 messages imported. 1 line skipped:" in html
    assert "line 4:" in html


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe\x89PNG" * 100, b"not a chat", b"[1, 2", b'{"a": 1}'])
def test_a_file_that_is_no_chat_is_refused_in_words(alice, site, content):
    reply = upload(site, content, "Holiday <b>.jsonl", **HTMX)
    html = reply.content.decode()
    assert reply.status_code == 400
    assert "Holiday &lt;b&gt;.jsonl was not imported." in html
    assert "Nothing from it was stored." in html
    assert not Chat.objects.for_owner(alice).exists()
    assert "was not imported" in site.get(upload(site, content)["Location"]).content.decode()


def test_a_file_that_is_too_large_is_refused(alice, site, settings):
    settings.IMPORT_MAX_BYTES = 100
    assert "larger than" in upload(site, lines(*LINES), **HTMX).content.decode()
    assert not Chat.objects.for_owner(alice).exists()


def test_no_file_at_all(site):
    assert "No file was received." in site.post("/chats/import/", follow=True).content.decode()
    assert "No file was received." in site.post("/chats/import/", {"file": "text"}, **HTMX).content.decode()


def test_of_several_files_each_is_told(alice, site):
    files = [SimpleUploadedFile("good.jsonl", lines(*LINES)), SimpleUploadedFile("bad.jsonl", b"")]
    reply = site.post("/chats/import/", {"file": files}, **HTMX)
    assert reply["HX-Redirect"] == "/"
    html = site.get("/").content.decode()
    assert "2 messages imported." in html
    assert "bad.jsonl was not imported." in html
    assert Chat.objects.for_owner(alice).count() == 1


def test_a_newcomer_opens_the_story(alice, site):
    reply = site.post("/chats/sample/")
    chat = Chat.objects.for_owner(alice).get()
    assert reply["Location"] == f"/chats/{chat.pk}/"
    assert chat.message_count >= 120


# Reading


def test_a_chat_opens_at_its_end(long_chat, site):
    html = site.get(f"/chats/{long_chat.pk}/").content.decode()
    assert indexes(html) == list(range(70, 120))
    assert f"/chats/{long_chat.pk}/window/?before=70" in html
    assert "?after=" not in html


def test_windows_meet_without_gap_or_overlap(long_chat, site):
    def window(query: str) -> str:
        return site.get(f"/chats/{long_chat.pk}/window/?{query}", **HTMX).content.decode()

    assert indexes(window("before=70")) == list(range(20, 70))
    first = window("before=20")
    assert indexes(first) == list(range(20))
    assert "?before=" not in first
    assert indexes(window("after=49")) == list(range(50, 100))
    last = window("after=99")
    assert indexes(last) == list(range(100, 120))
    assert "?after=" not in last
    assert indexes(window("before=0")) == indexes(window("after=119")) == indexes(window("after=999999")) == []


def test_without_htmx_a_window_is_a_page(long_chat, site):
    html = site.get(f"/chats/{long_chat.pk}/window/?before=70").content.decode()
    assert "<html" in html
    assert indexes(html) == list(range(20, 70))
    assert "?before=20" in html
    assert "?after=69" in html


@pytest.mark.parametrize("query", ["", "before=x", "after=-7", "before=9999999999999999999999", "after=%00&before=²"])
def test_a_window_that_is_none(long_chat, site, query):
    assert site.get(f"/chats/{long_chat.pk}/window/?{query}", **HTMX).status_code == 200
    assert site.get(f"/chats/{long_chat.pk}/window/?{query}").status_code == 200


def test_a_place_is_opened_and_marked(long_chat, site):
    html = site.get(f"/chats/{long_chat.pk}/?at=30").content.decode()
    assert indexes(html) == list(range(22, 72))
    assert re.search(r'<article class="message found"\s+id="m-30"', html)


@pytest.mark.parametrize("at", ["99999999999999999999", "-1", "x", "1.5", "%00"])
def test_a_place_that_is_none_opens_the_end(long_chat, site, at):
    assert indexes(site.get(f"/chats/{long_chat.pk}/?at={at}").content.decode())[-1] == 119


def test_a_date_leads_to_its_first_message(alice, site):
    chat = make_chat(alice, title="Dated")
    dates = [NOON, NOON + HOUR, NOON + 24 * HOUR, NOON + 48 * HOUR]
    append_messages(alice, chat.pk, [parsed(f"At {date}", send_date=date) for date in dates], NO_INTEGRITY)
    html = site.get(f"/chats/{chat.pk}/?on=2023-11-16").content.decode()
    assert re.search(r'found"\s+id="m-2"', html)
    for on, index in (("2023-11-01", 0), ("2030-01-01", 3), ("0001-01-01", 0)):
        assert re.search(rf'found"\s+id="m-{index}"', site.get(f"/chats/{chat.pk}/?on={on}").content.decode())
    assert site.get(f"/chats/{chat.pk}/?on=soon").status_code == 200


def test_sittings_are_divided(alice, site):
    chat = make_chat(alice, title="Dated")
    dates = [NOON, NOON + HOUR, NOON + 6 * HOUR, NOON + 24 * HOUR, ""]
    append_messages(alice, chat.pk, [parsed("Here", send_date=date) for date in dates], NO_INTEGRITY)
    html = site.get(f"/chats/{chat.pk}/").content.decode()
    dividers = [" ".join(found.split()) for found in re.findall(r'<li class="day">.*?>([^<>]+)</time>', html, re.S)]
    assert dividers == ["Wednesday, 15 November 2023", "Later that day, 18:00", "Thursday, 16 November 2023"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["Mira", "Salt"], "Mira and Salt"),
        (["Mira", "Salt", "Tam"], "Mira, Salt and Tam"),
        (["Mira", "Salt", "Tam", "Ione"], "Mira, Salt and 2 more"),
    ],
)
def test_the_head_of_a_group_and_the_list_name_its_members(alice, site, names, shown):
    chat = make_group(alice, *names)
    assert f'<p class="quiet">{shown} · <span data-count>' in site.get(f"/chats/{chat.pk}/").content.decode()
    assert f'<span class="entry-who">{shown}</span>' in site.get("/").content.decode()


def make_group(owner, first, *others):
    character = make_character(owner, name=first)
    chat = make_chat(owner, "Hello.", character=character)
    for name in (first, *others):
        add_participant(owner, chat.pk, name=name, character=character if name == first else None)
    return chat


def test_hidden_messages_are_folded_and_swipes_counted(alice, site):
    chat = make_chat(alice, title="Odd")
    append_messages(
        alice,
        chat.pk,
        [parsed("A note", is_system=True), parsed("Two", swipes=["One", "Two", "Three"], swipe_id=1)],
        NO_INTEGRITY,
    )
    html = site.get(f"/chats/{chat.pk}/").content.decode()
    assert "Hidden from the prompt" in html
    assert "<span>2/3</span>" in html


def test_what_a_message_says_is_no_part_of_the_page(alice, site):
    chat = make_chat(alice, "<script>alert(1)</script>", title="<script>alert(2)</script>")
    for html in (site.get("/").content.decode(), site.get(f"/chats/{chat.pk}/").content.decode()):
        assert "<script>alert" not in html


def test_a_page_costs_the_same_with_more_messages(chat, long_chat, site, django_assert_max_num_queries):
    site.get("/theme/")  # the first request of a session also writes when it was used
    for wanted in (chat, long_chat):
        with django_assert_max_num_queries(15):
            site.get(f"/chats/{wanted.pk}/")


# Writing


def test_a_message_is_written_as_oneself_and_as_the_other(alice, chat, site):
    html = site.post(f"/chats/{chat.pk}/write/", {"text": "Let us\r\ngo.\r\n", "next": "2"}, **HTMX).content.decode()
    assert indexes(html) == [2]
    site.post(f"/chats/{chat.pk}/write/", {"text": "Not yet.", "speaker": "character"})
    first, second = message_window(alice, chat.pk, 2).messages
    assert (first.name, first.is_user, first.mes) == ("Alice", True, "Let us\ngo.")
    assert (second.name, second.is_user, second.mes) == ("Mira", False, "Not yet.")


def test_the_first_message(alice, site):
    chat = make_chat(alice)
    html = site.post(f"/chats/{chat.pk}/write/", {"text": "Hello", "next": "0"}, **HTMX).content.decode()
    assert indexes(html) == [0]


def test_what_came_meanwhile_is_shown_too(alice, chat, site):
    append_messages(alice, chat.pk, [parsed("From elsewhere")], NO_INTEGRITY)
    html = site.post(f"/chats/{chat.pk}/write/", {"text": "Mine", "next": "2"}, **HTMX).content.decode()
    assert indexes(html) == [2, 3]


@pytest.mark.parametrize("start", ["", "0", "x", "-1"])
def test_far_from_the_end_the_page_is_loaded_anew(long_chat, site, start):
    reply = site.post(f"/chats/{long_chat.pk}/write/", {"text": "Hello", "next": start}, **HTMX)
    assert reply["HX-Redirect"] == f"/chats/{long_chat.pk}/"


@pytest.mark.parametrize("data", [{}, {"text": " \n"}, {"text": "a\x00b"}, {"text": "x", "speaker": "nobody"}])
def test_what_is_no_message_is_refused(alice, chat, site, data):
    assert "field-error" in site.post(f"/chats/{chat.pk}/write/", data, **HTMX).content.decode()
    reply = site.post(f"/chats/{chat.pk}/write/", data)
    assert reply.status_code == 400
    assert access_chat(alice, chat.pk).rev == chat.rev


# Editing


def test_a_message_is_edited_in_place(alice, chat, site):
    message = chat.messages.get(index=1)
    form = site.get(url_of(message, "edit/"), **HTMX).content.decode()
    assert "Under the *blue* stone." in form
    assert str(chat.integrity) in form
    data = {"text": "Under the\r\nred stone.", "integrity": chat.integrity}
    html = site.post(url_of(message, "edit/"), data, **HTMX).content.decode()
    assert "red stone." in html
    assert text_of(alice, chat, 1) == "Under the\nred stone."
    assert access_chat(alice, chat.pk).integrity != chat.integrity


def test_an_edit_survives_a_message_that_came_meanwhile(alice, chat, site):
    append_messages(alice, chat.pk, [parsed("From elsewhere")], NO_INTEGRITY)
    data = {"text": "Under the red stone.", "integrity": chat.integrity}
    reply = site.post(url_of(chat.messages.get(index=1), "edit/"), data)
    assert reply["Location"] == f"/chats/{chat.pk}/?at=1#m-1"
    assert text_of(alice, chat, 1) == "Under the red stone."


def test_a_conflict_shows_both_texts_and_saving_again_goes_through(alice, chat, site):
    message = chat.messages.get(index=1)
    patch_messages(alice, chat.pk, [Patch({"mes": "Under the <green> stone."}, index=1)], Guard(chat.integrity))
    data = {"text": "Under the red stone.", "integrity": chat.integrity}
    for headers in (HTMX, {}):
        reply = site.post(url_of(message, "edit/"), data, **headers)
        html = reply.content.decode()
        assert reply.status_code == 409
        assert "Under the red stone." in html
        assert "Under the &lt;green&gt; stone." in html
    assert text_of(alice, chat, 1) == "Under the <green> stone."
    again = re.search(r'name="integrity" value="([^"]+)"', html)[1]
    site.post(url_of(message, "edit/"), data | {"integrity": again})
    assert text_of(alice, chat, 1) == "Under the red stone."


def test_an_edit_of_a_state_that_nobody_knows_is_a_conflict(alice, chat, site):
    data = {"text": "Under the red stone.", "integrity": uuid4()}
    assert site.post(url_of(chat.messages.get(index=1), "edit/"), data, **HTMX).status_code == 409
    assert text_of(alice, chat, 1) == "Under the *blue* stone."


@pytest.mark.parametrize("text", ["", "  ", "a\x00b"])
def test_an_edit_to_nothing_is_refused(alice, chat, site, text):
    data = {"text": text, "integrity": chat.integrity}
    assert site.post(url_of(chat.messages.get(index=1), "edit/"), data, **HTMX).status_code == 400
    assert text_of(alice, chat, 1) == "Under the *blue* stone."


def test_an_edit_that_changes_nothing_writes_nothing(alice, chat, site):
    data = {"text": "Under the *blue* stone.", "integrity": chat.integrity}
    site.post(url_of(chat.messages.get(index=1), "edit/"), data, **HTMX)
    assert access_chat(alice, chat.pk).integrity == chat.integrity


def test_a_message_of_another_chat_is_not_here(alice, chat, long_chat, site):
    message = long_chat.messages.first()
    assert site.get(f"/chats/{chat.pk}/messages/{message.pk}/").status_code == 404
    assert site.get(f"/chats/{chat.pk}/messages/{message.pk}/edit/").status_code == 404
    assert site.get(url_of(message), **HTMX).status_code == 200
