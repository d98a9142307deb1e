"""The persona pages, personas in a chat's pages, and avatars where characters, chats and messages are shown."""

import io
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from apps.accounts.models import User
from apps.chats.models import Avatar, Chat, Message, Persona
from apps.chats.operations import (
    add_participant,
    append_messages,
    create_persona,
    merge_characters,
    set_character_image,
    set_persona_avatar,
    update_chat,
)
from apps.chats.templatetags.avatars import TINTS, tint_of
from config.env import ROOT
from tests.exchange.cards_made import png
from tests.factories import UserFactory, make_character, make_chat, parsed

FORM = {"name": "Alicia", "description": "A thief."}


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory(email="alice@example.com")


def picture(name: str = "me.png", size: tuple[int, int] = (30, 40)) -> SimpleUploadedFile:
    file = io.BytesIO()
    Image.new("RGB", size, "teal").save(file, "PNG")
    return SimpleUploadedFile(name, file.getvalue())


def avatar_url(**of: Any) -> str:
    owner = next(iter(of.values())).owner_id
    return f"/api/v1/avatars/{Avatar.objects.for_owner(owner).get(**of).pk}/"


def speakers_in(html: str) -> list[tuple[str, bool]]:
    """The names in the menu of the composer, and whether a message under them is the user's."""
    menu = re.search(r'<select name="speaker".*?</select>', html, re.DOTALL)
    assert menu
    options = re.findall(r"<option([^>]*)>([^<]*)</option>", menu[0])
    return [(name, "data-role" in attributes) for attributes, name in options]


def test_no_personas_invite_to_make_one(site: Client) -> None:
    assert "No personas yet" in site.get("/personas/").content.decode()


def test_a_persona_is_made_with_a_picture_and_listed(alice: User, site: Client) -> None:
    reply = site.post("/personas/new/", FORM | {"avatar": picture()})
    assert reply["Location"] == "/personas/"
    persona = Persona.objects.for_owner(alice).get()
    assert (persona.name, persona.description, persona.is_default) == ("Alicia", "A thief.", True)
    html = site.get("/personas/").content.decode()
    assert "Alicia" in html
    assert avatar_url(persona=persona) in html
    assert "In new chats" in html


def test_a_persona_is_changed_and_its_picture_taken_away(alice: User, site: Client) -> None:
    site.post("/personas/new/", FORM | {"avatar": picture()})
    persona = Persona.objects.for_owner(alice).get()
    url = f"/personas/{persona.pk}/"
    assert "Remove the picture" in site.get(url).content.decode()
    site.post(url, {"name": "Bea", "remove_avatar": "on", "is_default": "on"})
    changed = Persona.objects.for_owner(alice).get()
    assert (changed.name, changed.description, changed.is_default) == ("Bea", "", True)
    assert not Avatar.objects.for_owner(alice).exists()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": " "}, "required"),
        ({"name": "x" * 201}, "at most 200"),
        (FORM | {"avatar": SimpleUploadedFile("a.png", b"<svg/>")}, "It is not a PNG"),
        (FORM | {"avatar": SimpleUploadedFile("a.png", png(width=9000, height=9000))}, "9000 by 9000 pixels"),
    ],
)
def test_what_can_not_be_a_persona_is_said(alice: User, site: Client, form: dict[str, Any], said: str) -> None:
    reply = site.post("/personas/new/", form)
    assert reply.status_code == 400
    assert said in reply.content.decode()
    assert not Persona.objects.for_owner(alice).exists()


def test_a_deletion_is_undone_from_its_toast(alice: User, site: Client) -> None:
    persona = create_persona(alice, name="Alicia")
    html = site.post(f"/personas/{persona.pk}/delete/", follow=True).content.decode()
    undo = f"/personas/{persona.pk}/restore/"
    assert undo in html
    assert not Persona.objects.for_owner(alice).exists()
    assert "Alicia is back." in site.post(undo, follow=True).content.decode()
    assert Persona.objects.for_owner(alice).get() == persona


# In chats


def test_a_chat_starts_as_the_default_persona(alice: User, site: Client) -> None:
    persona = create_persona(alice, name="Alicia")
    create_persona(alice, name="Bea")
    site.post(f"/characters/{make_character(alice, first_mes='Hello {{user}}.').pk}/start/")
    chat = Chat.objects.for_owner(alice).get()
    assert (chat.persona, chat.user_name) == (persona, "Alicia")
    assert Message.objects.for_owner(alice).get().mes == "Hello Alicia."


def test_a_new_chat_is_made_as_a_persona_or_under_a_name(alice: User, site: Client) -> None:
    assert "Your persona" not in site.get("/chats/new/").content.decode()
    persona = create_persona(alice, name="Alicia")
    assert f'<option value="{persona.pk}" selected>' in site.get("/chats/new/").content.decode()
    site.post("/chats/new/", {"title": "A", "persona": persona.pk, "user_name": "Ignored"})
    site.post("/chats/new/", {"title": "B", "persona": "", "user_name": "Somebody"})
    chats = {chat.title: (chat.persona, chat.user_name) for chat in Chat.objects.for_owner(alice)}
    assert chats == {"A": (persona, "Alicia"), "B": (None, "Somebody")}


def test_the_persona_of_a_chat_is_chosen_in_its_settings(alice: User, site: Client) -> None:
    persona, chat = create_persona(alice, name="Alicia"), make_chat(alice)
    url = f"/chats/{chat.pk}/rename/"
    site.post(url, {"title": "The heist", "persona": persona.pk, "user_name": "Alice"})
    chat.refresh_from_db()
    assert (chat.persona, chat.user_name) == (persona, "Alicia")
    site.post(url, {"title": "The heist", "persona": "", "user_name": "Alicia"})
    chat.refresh_from_db()
    assert chat.persona is None


def test_another_users_persona_can_not_be_chosen_on_a_page(alice: User, site: Client) -> None:
    chat = make_chat(alice)
    create_persona(alice, name="Alicia")
    theirs = create_persona(UserFactory(), name="Theirs")
    for url in (f"/chats/{chat.pk}/rename/", "/chats/new/"):
        assert site.post(url, {"title": "x", "persona": theirs.pk}).status_code == 400
    assert site.post(f"/chats/{chat.pk}/write/", {"text": "Hi", "speaker": theirs.pk}).status_code == 400


def test_the_menu_of_the_composer_has_every_persona_the_chats_own_first(alice: User, site: Client) -> None:
    chat = make_chat(alice, "Hello", character=make_character(alice))
    assert speakers_in(site.get(f"/chats/{chat.pk}/").content.decode()) == [("Alice", True), ("Mira", False)]
    for name in ("Alicia", "Bea"):
        create_persona(alice, name=name)
    update_chat(chat, persona=Persona.objects.for_owner(alice).get(name="Bea"))
    html = site.get(f"/chats/{chat.pk}/").content.decode()
    assert speakers_in(html) == [("Bea", True), ("Alicia", True), ("Mira", False)]


def test_writing_as_another_persona_makes_it_the_chats(alice: User, site: Client) -> None:
    chat, persona = make_chat(alice), create_persona(alice, name="Alicia")
    site.post(f"/chats/{chat.pk}/write/", {"text": "Who goes there?", "speaker": persona.pk})
    site.post(f"/chats/{chat.pk}/write/", {"text": "It is me.", "speaker": ""})
    chat.refresh_from_db()
    assert chat.persona == persona
    written = Message.objects.for_owner(alice).order_by("index").values_list("name", "is_user")
    assert list(written) == [("Alicia", True), ("Alicia", True)]


# Avatars


def test_messages_have_the_avatar_of_who_speaks_in_them(alice: User, site: Client) -> None:
    mira = make_character(alice)
    set_character_image(mira, picture().read(), "image/png")
    alicia = create_persona(alice, name="Alicia")
    set_persona_avatar(alicia, picture().read())
    chat = make_chat(alice, character=mira)
    messages = [
        parsed("Hello.", is_user=True, name="Alicia"),
        parsed("Hello, you.", name="Mira"),
        parsed("Meanwhile …", name="Narrator"),
        parsed("I am no Mira.", is_user=True, name="Mira"),
    ]
    append_messages(alice, chat.pk, messages)
    html = site.get(f"/chats/{chat.pk}/").content.decode()
    turns = html.split('id="turn-')[1:]
    shown = [re.findall(r"/api/v1/avatars/[^/]+/", turn.split("</header>")[0]) for turn in turns]
    assert shown == [[avatar_url(persona=alicia)], [avatar_url(character=mira)], [], []]
    assert re.search(r'<span class="avatar size-28 tint-\d" aria-hidden="true">N</span>', turns[2])
    message = Message.objects.for_owner(alice).get(index=1)
    part = site.get(f"/chats/{chat.pk}/messages/{message.pk}/", HTTP_HX_REQUEST="true").content.decode()
    assert avatar_url(character=mira) in part


def test_members_of_a_group_have_their_characters_avatars(alice: User, site: Client) -> None:
    mira, chat = make_character(alice), make_chat(alice)
    set_character_image(mira, picture().read(), "image/png")
    for name, character in (("Captain Mira", mira), ("Borin", make_character(alice, "Borin"))):
        add_participant(alice, chat.pk, name=name, character=character)
    append_messages(alice, chat.pk, [parsed("Ahoy.", name="Captain Mira"), parsed("Hm.", name="Borin")])
    turns = site.get(f"/chats/{chat.pk}/").content.decode().split('id="turn-')[1:]
    assert [avatar_url(character=mira) in turn for turn in turns] == [True, False]


def test_the_avatar_of_another_users_persona_is_not_shown(alice: User, site: Client) -> None:
    set_persona_avatar(create_persona(UserFactory(), name="Alice"), picture().read())
    chat = make_chat(alice, "Hello")
    assert "/api/v1/avatars/" not in site.get(f"/chats/{chat.pk}/").content.decode()


def test_a_deleted_personas_avatar_is_not_shown(alice: User, site: Client) -> None:
    persona = create_persona(alice, name="Alice")
    set_persona_avatar(persona, picture().read())
    chat = make_chat(alice, "Hello")
    site.post(f"/personas/{persona.pk}/delete/")
    assert "/api/v1/avatars/" not in site.get(f"/chats/{chat.pk}/").content.decode()


def test_the_list_of_chats_has_avatars_or_letters(alice: User, site: Client) -> None:
    mira = make_character(alice)
    set_character_image(mira, picture().read(), "image/png")
    make_chat(alice, "Hello", character=mira)
    make_chat(alice, title="“Quiet” house")
    html = site.get("/").content.decode()
    image = re.search(rf'<img class="avatar size-40"\s+src="{avatar_url(character=mira)}"[^>]*>', html)
    assert image
    assert all(part in image[0] for part in ('alt=""', 'width="40"', 'height="40"', 'loading="lazy"'))
    assert f'<span class="avatar size-40 tint-{tint_of("“Quiet” house")}" aria-hidden="true">Q</span>' in html


def test_a_picture_uploaded_on_a_characters_page_gives_its_avatar(alice: User, site: Client) -> None:
    mira = make_character(alice)
    site.post(f"/characters/{mira.pk}/edit/", {"name": "Mira", "picture": picture()})
    assert Avatar.objects.for_owner(alice).filter(character=mira).exists()


def test_a_merged_character_keeps_one_avatar(alice: User) -> None:
    mira, other = make_character(alice), make_character(alice)
    set_character_image(mira, picture().read(), "image/png")
    assert merge_characters(mira, other).avatar.owner_id == alice.pk


def test_every_colour_of_a_letter_has_a_style() -> None:
    styles = (ROOT / "static" / "css" / "chats.css").read_text()
    assert all(f".tint-{number} {{" in styles for number in range(TINTS))
    assert f".tint-{TINTS} {{" not in styles


def test_a_new_user_is_asked_for_a_name_which_becomes_the_first_persona(site, alice):
    mira = make_character(alice, first_mes="Hello {{user}}.")
    start = f"/characters/{mira.pk}/start/"
    for path in ("/", f"/characters/{mira.pk}/"):
        assert "Your name in stories" in site.get(path).content.decode()
    for path in ("/personas/introduce/", start):
        refused = site.post(path, {"name": " "})
        assert (refused.status_code, "This field is required" in refused.content.decode()) == (400, True)
    assert not Chat.objects.for_owner(alice).exists()
    site.post(start, {"name": "Alys of Salt"})
    chat = Chat.objects.for_owner(alice).get()
    assert (chat.persona.name, chat.persona.is_default, chat.messages.get().mes) == (
        "Alys of Salt",
        True,
        "Hello Alys of Salt.",
    )
    for path in ("/", f"/characters/{mira.pk}/"):
        assert "Your name in stories" not in site.get(path).content.decode()
    site.post("/personas/introduce/", {"name": "Somebody"})  # a form of another tab
    assert [persona.name for persona in Persona.objects.for_owner(alice)] == ["Alys of Salt"]


def test_the_name_in_the_first_chat_becomes_the_first_persona(site, alice):
    assert "It becomes your first persona" in site.get("/chats/new/").content.decode()
    site.post("/chats/new/", {"title": "A", "user_name": ""})
    assert not Persona.objects.for_owner(alice).exists()
    site.post("/chats/new/", {"title": "B", "user_name": "Alys"})
    assert Chat.objects.for_owner(alice).get(title="B").persona == Persona.objects.for_owner(alice).get(name="Alys")
