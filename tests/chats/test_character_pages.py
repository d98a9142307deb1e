"""The character pages: cards come in, are shown with all that they say, changed, and deleted."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Lorebook
from apps.chats.queries import message_window
from tests.exchange.cards_made import BOOK, V2_CARD, png, text, v3_card
from tests.factories import UserFactory, make_character, make_chat

HTMX = {"HTTP_HX_REQUEST": "true"}
MULTILINE = "First line.\r\nSecond line."


@pytest.fixture
def alice(db) -> User:
    return UserFactory(email="alice@example.com")


@pytest.fixture
def mira(alice, site) -> Character:
    """Imported from a card with a picture and a lorebook."""
    site.post("/characters/import/", {"file": upload(png(text(v3_card(character_book=BOOK), "ccv3")))})
    return Character.objects.for_owner(alice).get()


def upload(content: bytes | dict, name: str = "mira.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, json.dumps(content).encode() if isinstance(content, dict) else content)


def form_of(character: Character, **fields) -> dict:
    """What the browser sends when nothing but ``fields`` is changed: line ends are its own."""
    names = ("name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example", "system_prompt")
    names += ("post_history_instructions", "creator_notes", "creator", "character_version")
    given = {name: getattr(character, name).replace("\r\n", "\n").replace("\n", "\r\n") for name in names}
    lists = {
        "tags": ", ".join(character.tags),
        "alternate_greetings": [*character.alternate_greetings, ""],
        "group_only_greetings": [*character.group_only_greetings, ""],
    }
    return given | lists | fields


def test_an_empty_gallery_invites(site):
    assert "Drop a character card" in site.get("/characters/").content.decode()


def test_a_card_is_imported_and_opened(alice, site):
    reply = site.post("/characters/import/", {"file": upload(png(text(V2_CARD)))})
    character = Character.objects.for_owner(alice).get()
    assert reply["Location"] == f"/characters/{character.pk}/"
    reply = site.post("/characters/import/", {"file": upload(png(text(V2_CARD)))}, **HTMX)
    assert reply["HX-Redirect"].startswith("/characters/")


def test_several_files_come_in_at_once_and_the_bad_one_is_named(alice, site):
    files = [upload(png(text(V2_CARD))), upload({"entries": {}}, "coast.json"), upload(b"GIF89a", "cat.gif")]
    html = site.post("/characters/import/", {"file": files}, follow=True).content.decode()
    assert "cat.gif was not imported." in html
    assert "Nothing from it was stored." in html
    assert "Mira" in html
    assert "coast" in html
    assert Lorebook.objects.for_owner(alice).count() == 1


@pytest.mark.parametrize("files", [{}, {"file": upload(b"nothing")}])
def test_what_is_no_card_leaves_the_page_as_it_is(alice, site, files):
    reply = site.post("/characters/import/", files, **HTMX)
    assert reply.status_code == 400
    assert "toast" in reply.content.decode()
    assert not Character.objects.for_owner(alice).exists()


def test_a_character_shows_all_that_its_card_says(site, mira):
    html = site.get(f"/characters/{mira.pk}/").content.decode()
    for said in ("Keeper of the &lt;b&gt;blue&lt;/b&gt; stone.", "A lighthouse.", "calm", "sea", "The door is open"):
        assert said in html
    for said in ("The coast", "It is blue.", "It is lost.", "All of you!", "https://x.test", "somebody/else"):
        assert said in html
    assert f"/api/v1/characters/{mira.pk}/image/" in html


def test_what_a_card_says_is_never_markup(site, alice):
    evil = "<script>alert(1)</script>"
    data = dict.fromkeys(V2_CARD["data"], evil) | {
        "extensions": {evil: evil},
        "tags": [evil],
        "creator_notes_multilingual": {"items": evil, evil: evil, "de": 3},
        "character_book": {"name": evil, "entries": [{"keys": [evil], "name": evil, "content": evil}]},
    }
    site.post("/characters/import/", {"file": upload({"spec": "chara_card_v3", "data": data}, "evil.json")})
    character = Character.objects.for_owner(alice).get()
    book = character.lorebooks.get()
    pages = ["", f"{character.pk}/", f"{character.pk}/edit/", f"{character.pk}/delete/"]
    for path in [*(f"/characters/{page}" for page in pages), f"/lorebooks/{book.pk}/", f"/lorebooks/{book.pk}/delete/"]:
        html = site.get(path).content.decode()
        assert "alert(1)" in html
        assert evil not in html


def test_the_gallery_finds_by_name_and_tag(alice, site):
    make_character(alice, "Mira", tags=["sea"])
    make_character(alice, "Borin", tags=["hills"])
    for words, found in (("bor", "Borin"), ("SEA", "Mira")):
        html = site.get("/characters/", {"q": words}, **HTMX).content.decode()
        assert found in html
        assert {"Borin": "Mira", "Mira": "Borin"}[found] not in html
    assert "No character found" in site.get("/characters/", {"q": "zz"}).content.decode()


def test_the_gallery_counts_chats(alice, site):
    mira = make_character(alice)
    make_chat(alice, "Hello", character=mira)
    make_chat(alice, character=mira)
    assert "2 chats" in site.get("/characters/").content.decode()


def test_a_chat_opens_with_the_greetings(alice, site, mira):
    reply = site.post(f"/characters/{mira.pk}/start/")
    chat = Chat.objects.for_owner(alice).get()
    assert reply["Location"] == f"/chats/{chat.pk}/"
    window = message_window(alice, chat.pk)
    assert [swipe.mes for swipe in window.messages[0].ordered_swipes] == [
        "Hello alice, I am Mi.",
        "The door is open, alice.",
    ]
    assert (window.messages[0].name, window.messages[0].swipe_id, chat.character_id) == ("Mira", 0, mira.pk)


def test_without_a_greeting_a_chat_opens_empty(alice, site):
    site.post(f"/characters/{make_character(alice).pk}/start/")
    assert Chat.objects.for_owner(alice).get().message_count == 0


def test_a_character_is_written_by_hand(alice, site):
    form = {"name": "Borin", "tags": "hills, , stone", "alternate_greetings": ["A\r\nb", "", " "]}
    reply = site.post("/characters/new/", form | {"picture": upload(png())})
    borin = Character.objects.for_owner(alice).get()
    assert reply["Location"] == f"/characters/{borin.pk}/"
    assert (borin.tags, borin.alternate_greetings) == (["hills", "stone"], ["A\nb"])
    assert bytes(borin.image.content) == png()


@pytest.mark.parametrize(
    "form", [{}, {"name": " "}, {"name": "x" * 201}, {"name": "a\0b"}, {"name": "B", "picture": upload(b"<svg/>")}]
)
def test_what_can_not_be_a_character_is_said(alice, site, form):
    reply = site.post("/characters/new/", form)
    assert reply.status_code == 400
    assert "field-error" in reply.content.decode()
    assert not Character.objects.for_owner(alice).exists()


def test_an_edit_changes_what_was_edited_and_nothing_else(alice, site):
    mira = make_character(alice, description=MULTILINE, tags=["a, b"], alternate_greetings=["Hi", ""])
    site.post(f"/characters/{mira.pk}/edit/", form_of(mira, personality="calm"))
    changed = Character.objects.for_owner(alice).get()
    assert (changed.personality, changed.description) == ("calm", MULTILINE)
    assert changed.alternate_greetings == ["Hi", ""]


def test_a_picture_is_replaced(alice, site, mira):
    site.post(f"/characters/{mira.pk}/edit/", form_of(mira, picture=upload(png(width=2))))
    assert bytes(Character.objects.for_owner(alice).get().image.content) == png(width=2)


def test_deleting_asks_first_and_keeps_the_chats(alice, site, mira):
    chat = make_chat(alice, character=mira)
    assert "will be deleted permanently" in site.get(f"/characters/{mira.pk}/delete/").content.decode()
    site.post(f"/characters/{mira.pk}/delete/")
    assert not Character.objects.for_owner(alice).exists()
    assert not Lorebook.objects.for_owner(alice).exists()
    assert Chat.objects.for_owner(alice).get() == chat


def test_a_lorebook_is_read_and_deleted(alice, site):
    site.post("/characters/import/", {"file": upload({"entries": BOOK["entries"], "name": "Coast"}, "c.json")})
    book = Lorebook.objects.for_owner(alice).get()
    assert "It is lost." in site.get(f"/lorebooks/{book.pk}/").content.decode()
    assert "Coast" in site.get("/characters/").content.decode()
    assert site.post(f"/lorebooks/{book.pk}/delete/")["Location"] == "/characters/"
    assert not Lorebook.objects.for_owner(alice).exists()


# The same card again


def test_the_same_card_is_the_same_character(alice, site):
    card = {"name": "Mira", "description": "A guide.", "first_mes": "Come in."}
    for _ in range(3):
        reply = site.post("/characters/import/", {"file": upload(card, "mira.json")}, follow=True)
    assert "Mira is among your characters already." in reply.content.decode()
    assert Character.objects.for_owner(alice).count() == 1
    site.post("/chats/import/", {"file": upload(card, "mira.json")})
    assert Character.objects.for_owner(alice).count() == 1


def test_a_card_fills_the_character_that_an_imported_chat_named(alice, site):
    mira = make_character(alice, "Mira")
    site.post("/characters/import/", {"file": upload({"name": "Mira", "description": "A guide."}, "mira.json")})
    assert Character.objects.for_owner(alice).get().pk == mira.pk
    mira.refresh_from_db()
    assert mira.description == "A guide."


def test_another_card_of_the_same_name_is_another_character(alice, site):
    for description in ("A guide.", "A thief."):
        card = {"name": "Mira", "description": description}
        site.post("/characters/import/", {"file": upload(card, "mira.json")})
    assert Character.objects.for_owner(alice).filter(name="Mira").count() == 2
