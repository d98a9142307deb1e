"""Personas: who a person is in their chats."""

import io
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from PIL import Image
from rest_framework.test import APIClient

from apps.chats.models import Avatar, Chat, Persona
from apps.chats.operations import branch_chat, delete_chat, purge_old_personas, restore_chat, set_character_image
from apps.chats.operations.bin import BIN_PERIOD
from apps.exchange.chats.imports import import_chats
from tests.exchange.cards_made import chunk, png
from tests.factories import make_character

URL = "/api/v1/personas/"
CHATS = "/api/v1/chats/"


def created(client: APIClient, name: str = "Alicia", **fields: Any) -> dict[str, Any]:
    reply = client.post(URL, {"name": name, **fields})
    assert reply.status_code == 201, reply.content
    return reply.json()


def chat_as(client: APIClient, persona: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return client.post(CHATS, {"title": "The heist", "persona": persona["id"], **fields}).json()


def photo(size: tuple[int, int] = (40, 60), kind: str = "JPEG", **options: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "teal").save(file, kind, **options)
    return file.getvalue()


def test_a_persona_is_made_read_changed_and_listed(alice: APIClient) -> None:
    persona = created(alice, description="A thief with a limp.")
    assert (persona["name"], persona["description"], persona["avatar"]) == ("Alicia", "A thief with a limp.", None)
    url = f"{URL}{persona['id']}/"
    assert alice.get(url).json() == persona
    assert alice.patch(url, {"description": "A retired thief."}).json()["description"] == "A retired thief."
    assert [row["name"] for row in alice.get(URL).json()["results"]] == ["Alicia"]


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": 3}, {"name": "x" * 201}, {"name": "A", "is_default": 1}])
def test_what_is_no_persona_is_refused_by_its_field(alice: APIClient, body: dict[str, Any]) -> None:
    reply = alice.post(URL, body)
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] in ("/name", "/is_default")


def test_one_persona_is_the_default(alice: APIClient, charlie: APIClient) -> None:
    first, second = created(alice), created(alice, "Bea")
    assert (first["is_default"], second["is_default"]) == (True, False)
    created(charlie, "Charles")
    assert alice.patch(f"{URL}{second['id']}/", {"is_default": True}).json()["is_default"]
    third = created(alice, "Cleo", is_default=True)
    defaults = Persona.objects.for_owner(alice.user).filter(is_default=True)
    assert str(defaults.get().pk) == third["id"]
    assert Persona.objects.for_owner(charlie.user).get().is_default


def test_the_database_keeps_one_default(alice: APIClient) -> None:
    created(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        Persona.objects.create(owner_id=alice.user.pk, name="Bea", is_default=True)


@pytest.mark.django_db(transaction=True)
def test_defaults_set_at_once_leave_one(alice: APIClient) -> None:
    ids = [created(alice, f"Persona {number}")["id"] for number in range(4)]

    def choose(persona_id: str) -> int:
        try:
            return alice.patch(f"{URL}{persona_id}/", {"is_default": True}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(choose, ids)) == {200}
    assert Persona.objects.for_owner(alice.user).filter(is_default=True).count() == 1


def test_a_chat_is_played_under_the_name_of_its_persona(alice: APIClient) -> None:
    persona = created(alice)
    chat = chat_as(alice, persona)
    assert (chat["persona"], chat["user_name"]) == (persona["id"], "Alicia")
    reply = alice.post(f"{CHATS}{chat['id']}/append/", {"message": {"is_user": True, "mes": "Hello."}})
    assert reply.status_code == 201
    assert alice.get(f"{CHATS}{chat['id']}/messages/").json()["results"][0]["name"] == "Alicia"


def test_a_chat_without_a_name_begins_as_the_default_persona(alice: APIClient) -> None:
    persona = created(alice)
    assert alice.post(CHATS, {"title": "A"}).json()["persona"] == persona["id"]
    assert alice.post(CHATS, {"title": "B", "persona": None}).json()["persona"] is None
    named = alice.post(CHATS, {"title": "C", "user_name": "Somebody"}).json()
    assert (named["persona"], named["user_name"]) == (None, "Somebody")


def test_a_change_of_the_persona_is_a_write_that_clients_are_told(alice: APIClient, chat: dict[str, Any]) -> None:
    persona = created(alice)
    url = f"{CHATS}{chat['id']}/"
    changed = alice.patch(url, {"persona": persona["id"]}).json()
    assert (changed["persona"], changed["user_name"], changed["rev"]) == (persona["id"], "Alicia", chat["rev"] + 1)
    told = alice.get(f"{url}changes/?since={chat['rev']}").json()["changes"][-1]
    assert (told["kind"], told["chat"]["persona"], told["chat"]["user_name"]) == ("details", persona["id"], "Alicia")
    assert alice.patch(url, {"persona": persona["id"]}).json()["rev"] == changed["rev"]
    assert alice.patch(url, {"persona": None}).json()["user_name"] == "Alicia"
    both = alice.patch(url, {"persona": persona["id"], "user_name": "Ali"}).json()
    assert (both["persona"], both["user_name"]) == (persona["id"], "Ali")


def test_another_users_persona_can_not_be_chosen(alice: APIClient, charlie: APIClient, chat: dict[str, Any]) -> None:
    theirs = created(charlie, "Charles")
    for reply in (
        alice.patch(f"{CHATS}{chat['id']}/", {"persona": theirs["id"]}),
        alice.post(CHATS, {"title": "A", "persona": theirs["id"]}),
    ):
        assert reply.status_code == 400
        assert reply.json()["errors"][0]["pointer"] == "/persona"


def test_a_new_name_holds_in_its_chats_from_then_on(alice: APIClient) -> None:
    persona = created(alice)
    chat, other = chat_as(alice, persona), chat_as(alice, persona, user_name="Ali")
    url = f"{CHATS}{chat['id']}/"
    alice.post(f"{url}append/", {"message": {"is_user": True, "mes": "Hello."}})
    alice.patch(f"{URL}{persona['id']}/", {"name": "Bea"})
    alice.post(f"{url}append/", {"message": {"is_user": True, "mes": "Hello again."}})
    assert alice.get(url).json()["user_name"] == "Bea"
    assert alice.get(f"{CHATS}{other['id']}/").json()["user_name"] == "Ali"
    assert [row["name"] for row in alice.get(f"{url}messages/").json()["results"]] == ["Alicia", "Bea"]


def test_a_deleted_persona_leaves_its_chats_without_one(alice: APIClient) -> None:
    persona = created(alice)
    chat = chat_as(alice, persona)
    alice.post(f"{CHATS}{chat['id']}/append/", {"message": {"is_user": True, "mes": "Hello."}})
    assert alice.delete(f"{URL}{persona['id']}/").status_code == 204
    assert alice.get(f"{URL}{persona['id']}/").status_code == 404
    left = alice.get(f"{CHATS}{chat['id']}/").json()
    assert (left["persona"], left["user_name"]) == (None, "Alicia")
    assert alice.get(f"{CHATS}{chat['id']}/messages/").json()["results"][0]["name"] == "Alicia"
    assert alice.patch(f"{CHATS}{chat['id']}/", {"persona": persona["id"]}).status_code == 400


def test_a_restored_persona_is_back_in_its_chats(alice: APIClient) -> None:
    persona, other = created(alice), created(alice, "Bea")
    back, gone_on, binned = (chat_as(alice, persona) for _ in range(3))
    delete_chat(Chat.objects.for_owner(alice.user).get(pk=binned["id"]))
    alice.delete(f"{URL}{persona['id']}/")
    alice.patch(f"{CHATS}{gone_on['id']}/", {"persona": other["id"]})
    assert alice.post(f"{URL}{persona['id']}/restore/").json()["is_default"]
    restore_chat(alice.user, binned["id"])
    chosen = [alice.get(f"{CHATS}{chat['id']}/").json()["persona"] for chat in (back, gone_on, binned)]
    assert chosen == [persona["id"], other["id"], persona["id"]]


def test_a_restored_persona_is_not_a_second_default(alice: APIClient) -> None:
    persona = created(alice)
    alice.delete(f"{URL}{persona['id']}/")
    created(alice, "Bea")
    assert not alice.post(f"{URL}{persona['id']}/restore/").json()["is_default"]


def test_a_deleted_persona_is_gone_for_good_after_thirty_days(alice: APIClient) -> None:
    persona, kept = created(alice), created(alice, "Bea")
    alice.delete(f"{URL}{persona['id']}/")
    assert purge_old_personas(timezone.now()) == 0
    assert purge_old_personas(timezone.now() + BIN_PERIOD) == 1
    assert alice.post(f"{URL}{persona['id']}/restore/").status_code == 404
    assert [row["id"] for row in alice.get(URL).json()["results"]] == [kept["id"]]


def test_a_branch_is_played_by_the_same_persona(alice: APIClient) -> None:
    persona = created(alice)
    chat = chat_as(alice, persona)
    alice.post(f"{CHATS}{chat['id']}/append/", {"message": {"is_user": True, "mes": "Hello."}})
    assert str(branch_chat(alice.user, chat["id"], 0).persona_id) == persona["id"]


def test_an_imported_chat_knows_the_persona_of_its_name(alice: APIClient, charlie: APIClient) -> None:
    persona = created(alice)
    created(charlie, "Alicia")
    header = b'{"user_name": "Alicia", "character_name": "Mira", "chat_metadata": {}}'
    lines = header + b'\n{"name": "Alicia", "is_user": true, "mes": "Hi"}'
    chat = import_chats(alice.user, io.BytesIO(lines), filename="heist.jsonl").chats[0]
    assert str(chat.persona_id) == persona["id"]


# Avatars


def test_an_avatar_is_small_square_and_without_metadata(alice: APIClient) -> None:
    persona = created(alice)
    url = f"{URL}{persona['id']}/avatar/"
    exif = Image.Exif()
    exif[0x010E] = "the author's house"
    assert alice.put(url, photo((900, 600), exif=exif), content_type="image/jpeg").status_code == 204
    shown = alice.get(url)
    assert shown["Content-Type"] == "image/webp"
    assert b"house" not in shown.content
    with Image.open(io.BytesIO(shown.content)) as image:
        assert (image.format, image.size, dict(image.getexif())) == ("WEBP", (192, 192), {})
    assert alice.delete(url).status_code == 204
    assert alice.get(url).status_code == 404


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF"])
def test_pictures_of_other_kinds_are_taken(alice: APIClient, kind: str) -> None:
    persona = created(alice)
    file = io.BytesIO(photo(kind=kind))
    file.name = f"me.{kind.lower()}"
    assert alice.put(f"{URL}{persona['id']}/avatar/", {"file": file}, format="multipart").status_code == 204


def test_a_photo_is_turned_upright(alice: APIClient) -> None:
    persona = created(alice)
    image = Image.new("RGB", (60, 60), "white")
    image.paste("black", (0, 0, 60, 30))  # dark above, as the camera stored it
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 3  # taken upside down
    image.save(file, "JPEG", exif=exif)
    alice.put(f"{URL}{persona['id']}/avatar/", file.getvalue(), content_type="image/jpeg")
    with Image.open(io.BytesIO(alice.get(f"{URL}{persona['id']}/avatar/").content)) as shown:
        assert shown.convert("L").getpixel((96, 20)) > 200


def bomb() -> bytes:
    """A PNG of 100 megapixels that is a few kilobytes long."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 10_000, 10_000, 1, 0, 0, 0, 0))
    rows = zlib.compress(b"\0" * (1251 * 10_000), 9)
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND")


def bomb_of_text() -> bytes:
    """A PNG with a text that inflates to 64 MiB."""
    text = chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"\0" * 2**26, 9))
    return png(text)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "It is missing"),
        (b"<svg/>", "not a PNG"),
        (photo()[:200], "damaged"),
        (bomb(), "10000 by 10000 pixels"),
        (bomb_of_text(), "damaged"),
    ],
)
def test_what_is_no_avatar_is_refused_by_its_field(alice: APIClient, content: bytes, why: str) -> None:
    persona = created(alice)
    url = f"{URL}{persona['id']}/avatar/"
    alice.put(url, photo(), content_type="image/jpeg")
    reply = alice.put(url, content, content_type="image/png")
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "/file"
    assert why in reply.json()["errors"][0]["detail"]
    assert alice.get(url).status_code == 200  # the one from before


def test_an_upload_beyond_ten_megabytes_is_too_large(alice: APIClient) -> None:
    persona = created(alice)
    reply = alice.put(f"{URL}{persona['id']}/avatar/", b"x" * (11 * 2**20), content_type="image/png")
    assert (reply.status_code, reply.json()["type"]) == (413, "/problems/too-large")


def test_an_avatar_is_its_owners_and_may_be_kept_by_the_browser(alice: APIClient, charlie: APIClient) -> None:
    persona = created(alice)
    alice.put(f"{URL}{persona['id']}/avatar/", photo(), content_type="image/jpeg")
    url = alice.get(f"{URL}{persona['id']}/").json()["avatar"]
    shown = alice.get(url)
    assert shown["Cache-Control"] == "private, max-age=31536000, immutable"
    assert shown["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert (shown["X-Content-Type-Options"], shown["Content-Type"]) == ("nosniff", "image/webp")
    assert alice.get(url, headers={"If-None-Match": shown["ETag"]}).status_code == 304
    assert charlie.get(url).status_code == 404
    alice.put(f"{URL}{persona['id']}/avatar/", photo((10, 10)), content_type="image/jpeg")
    assert alice.get(f"{URL}{persona['id']}/").json()["avatar"] != url


def test_the_avatar_of_a_character_is_made_of_its_picture(alice: APIClient) -> None:
    url = f"/api/v1/characters/{make_character(alice.user).pk}/"
    assert alice.get(url).json()["avatar"] is None
    alice.put(f"{url}image/", photo(), content_type="image/jpeg")
    with Image.open(io.BytesIO(alice.get(alice.get(url).json()["avatar"]).content)) as image:
        assert image.size == (192, 192)
    assert alice.get("/api/v1/characters/").json()["results"][0]["avatar"] == alice.get(url).json()["avatar"]
    alice.delete(f"{url}image/")
    assert alice.get(url).json()["avatar"] is None


def test_a_card_whose_picture_can_not_be_decoded_has_no_avatar(alice: APIClient) -> None:
    character = make_character(alice.user)
    set_character_image(character, png(width=2), "image/png")  # there is not enough data for two pixels
    assert not Avatar.objects.for_owner(alice.user).exists()


def test_an_avatar_is_of_a_character_or_a_persona(alice: APIClient) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Avatar.objects.create(owner_id=alice.user.pk, content=b"")


def test_lists_cost_the_same_with_more_rows(alice: APIClient, django_assert_num_queries: Any) -> None:
    for name in ("Alicia", "Bea", "Cleo"):
        persona = created(alice, name)
        alice.put(f"{URL}{persona['id']}/avatar/", photo(), content_type="image/jpeg")
        make_character(alice.user, name)
    for url in (URL, "/api/v1/characters/"):
        with django_assert_num_queries(2):  # token, page
            alice.get(url)
