"""The list of chats: its order, pins, the archive, tags, and actions on several chats with undo."""

import json
import re
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError
from django.test import Client

from apps.accounts.models import User
from apps.chats import operations
from apps.chats.models import MAX_TAGS, Chat
from apps.chats.operations.organizing import INVERSE, ChatAction
from tests.factories import UserFactory, make_chat, parsed

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory(email="alice@example.com")


@pytest.fixture
def chats(alice: User) -> list[Chat]:
    return [make_chat(alice, title=title) for title in ("First", "Second", "Third")]


def titles(site: Client, query: str = "") -> list[str]:
    return re.findall(r'class="entry-title">([^<]+)<', site.get(f"/{query}").content.decode())


def organize(site: Client, action: str, *chats: Chat, **fields: str):
    return site.post(f"/chats/organize/{action}/", {"chat": [chat.pk for chat in chats], **fields})


def undo_url(reply) -> str:
    message = list(get_messages(reply.wsgi_request))[-1]
    return message.extra_tags.removeprefix("undo ")


# The order


def test_what_was_used_last_comes_first(alice, site, chats):
    assert titles(site) == ["Third", "Second", "First"]
    operations.append_messages(alice, chats[0].pk, [parsed("Hello.")])
    assert titles(site) == ["First", "Third", "Second"]
    operations.update_chat(chats[1], title="Second, renamed")
    assert titles(site) == ["Second, renamed", "First", "Third"]


def test_the_list_says_its_order_and_shows_the_dates_that_it_is_in(alice, site, chats):
    operations.append_messages(alice, chats[0].pk, [parsed("Long ago.")])
    Chat.objects.for_owner(chats[0].owner).update(last_active="2019-03-01T10:00:00Z")
    page = site.get("/").content.decode()
    assert "3, last used first" in page
    assert page.count(">today</time>") == 3
    assert page.count("last message 1 Mar 2019") == 1  # the others have no message


def test_another_name_for_a_persona_leaves_the_order_as_it_is(alice, site, chats):
    persona = operations.create_persona(alice, name="Alicia")
    for chat in chats:
        operations.update_chat(chat, persona=persona)
    operations.append_messages(alice, chats[0].pk, [parsed("Hello.")])
    before = titles(site)
    operations.update_persona(persona, name="Alix")
    assert [chat.user_name for chat in Chat.objects.for_owner(alice)] == ["Alix"] * 3
    assert titles(site) == before == ["First", "Third", "Second"]


def test_an_old_chat_that_was_imported_just_now_comes_first(site, chats):
    message = {"name": "Mira", "is_user": False, "mes": "Long ago.", "send_date": "2019-03-01T10:00:00Z"}
    content = "\n".join(map(json.dumps, [{"user_name": "Alice", "character_name": "Mira"}, message]))
    site.post("/chats/import/", {"file": SimpleUploadedFile("Old.jsonl", content.encode())})
    assert titles(site)[0] == "Old"
    assert Chat.objects.for_owner(chats[0].owner).get(title="Old").last_active.year == 2019


def test_pinned_chats_stand_above_all_others(site, chats):
    organize(site, "pin", chats[0])
    assert titles(site) == ["First", "Third", "Second"]


# Filters


def test_the_archive_is_apart_and_a_search_finds_its_chats(site, chats):
    organize(site, "archive", chats[0])
    assert titles(site) == ["Third", "Second"]
    assert titles(site, "?archived=on") == ["First"]
    assert titles(site, "?q=first") == ["First"]


def test_a_list_of_which_all_is_archived_leads_to_the_archive(site, chats):
    organize(site, "archive", *chats)
    html = site.get("/").content.decode()
    assert "?archived=on" in html
    assert "No chats yet" not in html


def test_tags_filter_the_list(site, chats):
    organize(site, "tag", chats[0], chats[2], tag="long & dark")
    assert titles(site, "?tag=long+%26+dark") == ["Third", "First"]
    assert "?tag=long+%26+dark" in site.get("/").content.decode().replace("&amp;", "&")
    assert titles(site, "?tag=none") == []


def test_tags_are_edited_with_the_title(alice, site, chats):
    fields = {"title": "First", "user_name": "Alice", "tags": " slow burn, dark,dark , "}
    site.post(f"/chats/{chats[0].pk}/rename/", fields)
    assert Chat.objects.for_owner(alice).get(pk=chats[0].pk).tags == ["slow burn", "dark"]
    assert 'value="slow burn, dark"' in site.get(f"/chats/{chats[0].pk}/rename/").content.decode()
    too_many = fields | {"tags": ",".join(map(str, range(MAX_TAGS + 1)))}
    assert site.post(f"/chats/{chats[0].pk}/rename/", too_many).status_code == 400


def test_the_database_refuses_more_tags_than_a_chat_can_have(alice, chats):
    with pytest.raises(IntegrityError):
        Chat.objects.for_owner(alice).filter(pk=chats[0].pk).update(tags=[str(n) for n in range(MAX_TAGS + 1)])


# Several at once


@pytest.mark.parametrize("action", [action for action in ChatAction if action != ChatAction.RESTORE])
def test_every_action_is_undone_for_what_it_changed(alice, site, chats, action):
    def state():
        rows = Chat.objects.for_owner(alice).order_by("pk").values_list("pk", "pinned", "archived", "tags", "folder")
        return list(rows)

    first_only = action in (ChatAction.UNPIN, ChatAction.UNARCHIVE, ChatAction.UNTAG)
    # One of the chats is as the action leaves it already, or for its opposite only one is not.
    organize(site, INVERSE[action] if first_only else action, chats[0], tag="dark", folder="dark")
    if action == ChatAction.DELETE:
        chats = chats[1:]
    before = state()
    reply = organize(site, action, *chats, tag="dark", folder="dark")
    assert state() != before
    site.post(undo_url(reply))
    assert state() == before


def test_only_the_last_action_can_be_undone(alice, site, chats):
    first = undo_url(organize(site, "archive", chats[0]))
    organize(site, "archive", chats[1])
    reply = site.post(first)
    assert "can't be undone" in str(list(get_messages(reply.wsgi_request))[-1])
    assert Chat.objects.for_owner(alice).filter(archived=True).count() == 2


def test_an_action_of_before_the_upgrade_can_not_be_undone(alice, site, chats):
    organize(site, "pin", chats[0])
    session = site.session
    undo_id = str(uuid4())
    session["undo_organize"] = [undo_id, "unpin", [str(chats[0].pk)], ""]
    session.save()
    reply = site.post(f"/chats/organize/undo/{undo_id}/")
    assert (reply.status_code, reply.url) == (302, "/")
    assert "This can't be undone any more: something else was done since." in [
        str(message) for message in get_messages(reply.wsgi_request)
    ]


def test_deleted_chats_are_in_the_bin(alice, site, chats):
    reply = organize(site, "delete", *chats[:2])
    assert "2 chats are deleted." in str(list(get_messages(reply.wsgi_request))[-1])
    assert Chat.in_bin.for_owner(alice).count() == 2


def test_a_full_set_of_tags_stays_as_it_is(alice, chats):
    operations.organize_chat(chats[0], tags=[str(number) for number in range(MAX_TAGS)])
    assert operations.organize_chats(alice, [chat.pk for chat in chats[:2]], ChatAction.TAG, "new") == [chats[1].pk]


def test_an_action_returns_to_the_list_with_its_filters(site, chats):
    reply = site.post(
        "/chats/organize/pin/", {"chat": chats[0].pk}, headers={"Referer": "http://testserver/?tag=dark&q=x"}
    )
    assert reply["Location"] == "/?tag=dark&q=x"


@pytest.mark.parametrize("fields", [{}, {"chat": ["nonsense"]}, {"chat": [str(uuid4())], "tag": "a,b"}])
def test_what_names_no_chat_or_no_tag_changes_nothing(alice, site, chats, fields):
    reply = site.post("/chats/organize/tag/", fields)
    assert reply.status_code == 302
    assert not Chat.objects.for_owner(alice).exclude(tags=[]).exists()


def test_other_actions_do_not_exist(site, chats):
    assert organize(site, "burn", chats[0]).status_code == 404


@pytest.mark.parametrize("action", [action for action in ChatAction if action != ChatAction.RESTORE])
def test_chats_of_others_stay_untouched(chats, action):
    stranger = UserFactory()
    own = make_chat(stranger)
    if action in (ChatAction.UNPIN, ChatAction.UNARCHIVE, ChatAction.UNTAG):
        for chat in (chats[0], own):
            operations.organize_chat(chat, pinned=True, archived=True, tags=["dark"])
    assert operations.organize_chats(stranger, [chats[0].pk, own.pk], action, "dark") == [own.pk]


def test_deleted_chats_of_others_stay_in_their_bin(alice, chats):
    operations.delete_chat(chats[0])
    assert operations.organize_chats(UserFactory(), [chats[0].pk], ChatAction.RESTORE) == []
    assert Chat.in_bin.for_owner(alice).count() == 1


# Folders


def folders(site: Client, query: str = "") -> list[str]:
    html = site.get(f"/{query}").content.decode()
    return re.findall(r'class="shelf-folder".*?class="entry-title">([^<]+)<.*?class="quiet">(\d+)<', html, re.S)


def test_chats_move_into_folders_and_the_list_shows_those_in_none(alice, site, chats):
    organize(site, "move", chats[0], chats[1], folder="Slow burns")
    assert folders(site) == [("Slow burns", "2")]
    assert titles(site) == ["Slow burns", "Third"]
    assert titles(site, "?folder=Slow+burns") == ["Second", "First"]
    assert titles(site, "?everywhere=on") == ["Third", "Second", "First"]
    organize(site, "pin", chats[0])
    assert titles(site) == ["Slow burns", "First", "Third"]
    organize(site, "archive", chats[1])
    assert folders(site) == [("Slow burns", "1")]


def test_a_search_and_a_tag_find_chats_of_all_folders(alice, site, chats):
    operations.organize_chat(chats[0], folder="Old", tags=["dark"])
    assert titles(site, "?q=First") == ["First"]
    assert titles(site, "?tag=dark") == ["First"]


def test_a_move_out_of_several_folders_is_undone_into_each(alice, site, chats):
    operations.organize_chat(chats[0], folder="A")
    operations.organize_chat(chats[1], folder="B")
    undo = undo_url(organize(site, "move", *chats, folder="C"))
    assert set(Chat.objects.for_owner(alice).values_list("folder", flat=True)) == {"C"}
    site.post(undo)
    after = dict(Chat.objects.for_owner(alice).values_list("title", "folder"))
    assert after == {"First": "A", "Second": "B", "Third": ""}


def test_a_move_to_no_folder_says_so(alice, site, chats):
    operations.organize_chat(chats[0], folder="A")
    reply = organize(site, "move", chats[0], folder="")
    assert "1 chat is in no folder." in [str(message) for message in get_messages(reply.wsgi_request)]
    assert titles(site) == ["Third", "Second", "First"]


def test_folders_of_others_are_neither_seen_nor_changed(alice, site, chats):
    theirs = make_chat(UserFactory(), title="Theirs")
    operations.organize_chat(theirs, folder="Secret")
    organize(site, "move", theirs, folder="Mine")
    theirs.refresh_from_db()
    assert theirs.folder == "Secret"
    assert "Secret" not in site.get("/").content.decode()


def test_the_form_of_a_chat_and_the_api_set_the_folder(alice, site, chats):
    url = f"/chats/{chats[0].pk}/rename/"
    assert site.post(url, {"title": "First", "user_name": "", "folder": "x" * 51}).status_code == 400
    assert site.post(url, {"title": "First", "user_name": "", "folder": "Shelf"}).status_code == 302
    assert 'value="Shelf"' in site.get(url).content.decode()
    api = f"/api/v1/chats/{chats[1].pk}/"
    before = site.get(api).json()["integrity"]
    reply = site.patch(api, json.dumps({"folder": "Shelf"}), content_type="application/json")
    assert (reply.json()["folder"], reply.json()["integrity"]) == ("Shelf", before)
    found = site.get("/api/v1/chats/?folder=Shelf").json()["results"]
    assert {row["title"] for row in found} == {"First", "Second"}


def test_blanks_around_a_folder_are_no_part_of_it(alice, site, chats):
    """The filter of the list has none: the chats of a folder of blanks would be shown nowhere."""
    api = f"/api/v1/chats/{chats[0].pk}/"
    for given, stored in ((" Shelf\u00a0", "Shelf"), ("   ", "")):
        reply = site.patch(api, json.dumps({"folder": given}), content_type="application/json")
        assert (reply.status_code, reply.json()["folder"]) == (200, stored)
        assert "First" in titles(site, f"?folder={quote(given)}")
