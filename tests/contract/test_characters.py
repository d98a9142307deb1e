"""Characters and lorebooks over HTTP: cards come in, are changed, and go out again with all that they had."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from apps.exchange import cards
from tests.exchange.cards_made import (
    BOOK,
    V2_CARD,
    charx,
    chunk,
    compressed_text,
    international_text,
    png,
    text,
    texts_of,
    v3_card,
)

URL = "/api/v1/characters/"
BOOKS = "/api/v1/lorebooks/"
FIELDS = {"description", "extensions", "alternate_greetings", "tags", "nickname", "source", "group_only_greetings"}


def upload(client: APIClient, content: bytes | dict[str, Any], name: str = "card.png", url: str = URL) -> Any:
    body = json.dumps(content).encode() if isinstance(content, dict) else content
    return client.post(f"{url}import/", {"file": SimpleUploadedFile(name, body)}, format="multipart")


def imported(client: APIClient, content: bytes | dict[str, Any], name: str = "card.png") -> dict[str, Any]:
    reply = upload(client, content, name)
    assert reply.status_code == 201, reply.content
    return reply.json()["characters"][0]


def exported(client: APIClient, character: dict[str, Any], form: str = "json") -> bytes:
    reply = client.get(f"{URL}{character['id']}/export/?format={form}")
    assert reply.status_code == 200, reply.content
    assert reply["X-Content-Type-Options"] == "nosniff"
    return reply.content


def said(character: dict[str, Any]) -> dict[str, Any]:
    assigned = ("id", "avatar", "created_at", "updated_at")
    return {key: value for key, value in character.items() if key not in assigned}


def nothing_stored(client: APIClient) -> bool:
    return client.get(URL).json()["results"] == [] == client.get(BOOKS).json()["results"]


# Import


@pytest.mark.parametrize(
    "wrap",
    [
        text,
        compressed_text,
        international_text,
        lambda card: international_text(card, compress=True),
        lambda card: text(card, "CHARA"),
        lambda card: text(card, "ccv3"),
    ],
)
def test_a_card_is_read_out_of_any_text_chunk(alice: APIClient, wrap: Any) -> None:
    character = imported(alice, png(wrap(V2_CARD)))
    assert {key: character[key] for key in FIELDS & V2_CARD["data"].keys()} == {
        key: V2_CARD["data"][key] for key in FIELDS & V2_CARD["data"].keys()
    }
    assert json.loads(exported(alice, character)) == V2_CARD


def test_ccv3_wins_and_a_broken_one_gives_way(alice: APIClient) -> None:
    newer = v3_card(description="The newer one.")
    for content in (png(text(V2_CARD), text(newer, "ccv3")), png(text(newer, "ccv3"), text(V2_CARD))):
        assert imported(alice, content)["description"] == "The newer one."
    reply = upload(alice, png(chunk(b"tEXt", b"ccv3\0%%%"), text(V2_CARD))).json()
    assert reply["characters"][0]["description"] == V2_CARD["data"]["description"]
    assert "ccv3" in reply["report"]["warnings"][0]


@pytest.mark.parametrize(
    ("content", "form", "description"),
    [
        ({"name": "Mira", "description": "d", "first_mes": "Hi"}, "card_v1", "d"),
        ({"char_name": "Mira", "char_persona": "d", "char_greeting": "Hi"}, "pygmalion", "d"),
        (b"name: Mira\ncontext: |-\n  d\ngreeting: Hi\n", "oobabooga", "d"),
        (V2_CARD, "card_v2", V2_CARD["data"]["description"]),
        (v3_card(), "card_v3", V2_CARD["data"]["description"]),
        (charx(v3_card()), "card_v3", V2_CARD["data"]["description"]),
        (charx(v3_card(), prefix=b"\xff\xd8\xff no picture"), "card_v3", V2_CARD["data"]["description"]),
    ],
)
def test_every_kind_of_card_is_read(alice: APIClient, content: Any, form: str, description: str) -> None:
    reply = upload(alice, content, "card.bin").json()
    assert reply["report"] == {"format": form, "warnings": []}
    character = reply["characters"][0]
    assert (character["name"], character["description"]) == ("Mira", description)
    assert "Hi" in character["first_mes"] or "Hello" in character["first_mes"]


def test_a_newer_version_comes_in_with_a_warning_and_goes_out_as_it_came(alice: APIClient) -> None:
    card = v3_card() | {"spec_version": "4.1"}
    reply = upload(alice, card).json()
    assert "4.1" in reply["report"]["warnings"][0]
    assert json.loads(exported(alice, reply["characters"][0])) == card


def test_the_picture_of_an_archive_is_kept(alice: APIClient) -> None:
    card = v3_card(
        assets=[
            {"type": "icon", "uri": "embeded://assets/other.png", "name": "other", "ext": "png"},
            {"type": "icon", "uri": "embeded://assets/main.png", "name": "main", "ext": "png"},
        ]
    )
    files = {"assets/other.png": b"not a picture", "assets/main.png": png(width=1)}
    reply = upload(alice, charx(card, files), "mira.charx").json()
    assert "assets" in reply["report"]["warnings"][0]
    assert alice.get(f"{URL}{reply['characters'][0]['id']}/image/").content == files["assets/main.png"]


def test_what_postgres_cannot_hold_is_replaced_and_said(alice: APIClient) -> None:
    card = b'{"name": "Mira", "description": "a\\u0000b\\ud800c"}'
    reply = upload(alice, card, "mira.json").json()
    assert reply["characters"][0]["description"] == "a\ufffdb\ufffdc"
    assert any("NUL" in warning for warning in reply["report"]["warnings"])


def test_a_card_without_a_name_is_named_for_its_file(alice: APIClient) -> None:
    assert imported(alice, {"data": {"name": "", "description": "d"}}, "Mira of the coast.json")["name"] == (
        "Mira of the coast"
    )


def test_a_lorebook_comes_in_through_the_same_door(alice: APIClient) -> None:
    reply = upload(alice, {"entries": {"0": {"uid": 0, "key": ["k"], "content": "c"}}}, "Coast.json").json()
    assert reply["characters"] == []
    assert reply["lorebooks"][0]["name"] == "Coast"


# Bad input


HUGE = png(text(V2_CARD), width=100_000, height=100_000)
BOMB = chunk(b"zTXt", b"chara\0\0" + __import__("zlib").compress(b"A" * 2**26))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "neither a character card nor a lorebook"),
        (b"GIF89a....", "not a character card"),
        (b"\x89PNG\r\n\x1a\n", "no header"),
        (png(text(V2_CARD))[:-20], "cut off"),
        (png(text(V2_CARD))[:60], "cut off"),
        (png(text(V2_CARD)).replace(b"chara", b"chard"), "checksum"),
        (png(), "no character card"),
        (png(chunk(b"tEXt", b"chara\0not base64 at all!")), "can't be read: only base64"),
        (png(chunk(b"tEXt", b"chara\0" + b"e30=")), "no character card"),
        (png(BOMB), "can't be read: a text in the picture is larger than"),
        (HUGE, "100000 by 100000"),
        (charx(b"{"), "JSON"),
        (charx({"a": 1}), "not a character card"),
        (charx(b"A" * (2**25 + 1)), "larger than"),
        (charx(V2_CARD)[:-30], "archive"),
        (b"PK\x03\x04 and no more", "archive"),
        (b'{"name": "Mira", "description": ', "not valid JSON"),
        (b"[" * 100_000, "eply"),
        (b"a: &a [x]\nb: *a\nname: Mira\ncontext: y", "aliases"),
        (b"name: !!python/object:os.system x", "not a character card"),
        (b'{"user_name": "Alice", "chat_metadata": {}}\n{"name": "Mira", "mes": "Hi"}', "looks like a chat"),
        (b'["Mira: Hi"]', "looks like a chat"),
        (b'{"name": "Mira"}', "neither a character card nor a lorebook"),
        (b'{"data": {"name": "Mira"}, "data": 3}', "neither a character card nor a lorebook"),
        (b"[]", "neither a character card nor a lorebook"),
    ],
)
def test_what_is_no_card_is_refused_by_name(alice: APIClient, content: bytes, reason: str) -> None:
    for url in (URL, BOOKS):
        reply = upload(alice, content, url=url)
        assert reply.status_code == 400, reply.content
        assert reply.json()["errors"][0]["pointer"] == "/file"
        assert reason.lower() in reply.json()["detail"].lower()
    assert nothing_stored(alice)


def test_a_file_past_the_limit_is_refused(alice: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "MAX_FILE_BYTES", 100)
    assert upload(alice, V2_CARD).status_code == 413
    assert upload(alice, V2_CARD, url=BOOKS).status_code == 413
    assert nothing_stored(alice)


def test_no_file_is_named(alice: APIClient) -> None:
    reply = alice.post(f"{URL}import/", {}, format="multipart")
    assert reply.json()["errors"] == [{"pointer": "/file", "detail": "It is missing."}]


# Export


@pytest.mark.parametrize("card", [V2_CARD, v3_card(), v3_card(character_book=BOOK)])
def test_a_png_holds_both_versions_and_comes_back_the_same(alice: APIClient, card: dict[str, Any]) -> None:
    mark = chunk(b"tEXt", b"Comment\0Drawn by hand")
    first = imported(alice, png(mark, text(card), chunk(b"vpAg", b"own")))
    content = exported(alice, first, "png")
    assert mark in content
    assert chunk(b"vpAg", b"own") in content
    assert content.count(b"chara\0") == content.count(b"ccv3\0") == 1
    texts = texts_of(content)
    assert texts["chara"] == card | {"spec": "chara_card_v2", "spec_version": "2.0"}
    assert texts["ccv3"] == card | {"spec": "chara_card_v3", "spec_version": "3.0"}
    second = imported(alice, content)
    assert said(second) == said(first)
    assert (
        exported(alice, second)
        == exported(alice, first)
        == json.dumps(card, ensure_ascii=False, separators=(",", ":")).encode()
    )
    assert exported(alice, second, "png") == content


def test_a_first_version_keeps_what_it_had_and_gains_the_second(alice: APIClient) -> None:
    card = {"name": "Mira", "description": "d", "talkativeness": 0.3, "chat": "Mira - 1", "unknown": [1]}
    character = imported(alice, card)
    document = json.loads(exported(alice, character))
    assert document.items() >= card.items()
    assert document["spec"] == "chara_card_v2"
    assert document["data"]["name"] == "Mira"
    assert document["data"]["extensions"] == {"talkativeness": 0.3}
    again = imported(alice, exported(alice, character, "png"))
    assert json.loads(exported(alice, again)) == document


def test_a_change_goes_out_and_touches_nothing_else(alice: APIClient) -> None:
    character = imported(alice, png(text(V2_CARD)))
    changes = {"name": "Miranda", "tags": ["storm"], "nickname": "Mi"}
    assert alice.patch(f"{URL}{character['id']}/", changes, format="json").status_code == 200
    expected = V2_CARD | {"name": "Miranda", "data": V2_CARD["data"] | changes}
    assert json.loads(exported(alice, character)) == expected
    assert texts_of(exported(alice, character, "png"))["chara"] == expected


def test_one_made_here_is_a_whole_card(alice: APIClient) -> None:
    character = alice.post(URL, {"name": "Mira", "first_mes": "Hi"}, format="json").json()
    card = json.loads(exported(alice, character))
    assert card["spec"] == "chara_card_v3"
    assert card["data"]["group_only_greetings"] == []
    content = exported(alice, character, "png")
    assert said(imported(alice, content)) == said(character)


def test_a_format_that_there_is_not(alice: APIClient) -> None:
    character = alice.post(URL, {"name": "Mira"}, format="json").json()
    assert alice.get(f"{URL}{character['id']}/export/?format=gif").json()["errors"][0]["pointer"] == "/format"


def test_a_list_of_another_type_is_named(alice: APIClient) -> None:
    reply = alice.post(URL, {"name": "Mira", "tags": ["a", 3], "alternate_greetings": "Hi"}, format="json")
    assert {error["pointer"] for error in reply.json()["errors"]} == {"/tags/1", "/alternate_greetings"}


# Pictures


def test_a_picture_is_given_and_taken_away(alice: APIClient) -> None:
    character = alice.post(URL, {"name": "Mira"}, format="json").json()
    url = f"{URL}{character['id']}/image/"
    assert alice.get(url).status_code == 404
    assert alice.put(url, png(), content_type="image/png").status_code == 204
    shown = alice.get(url)
    assert (shown.content, shown["Content-Type"], shown["X-Content-Type-Options"]) == (png(), "image/png", "nosniff")
    assert alice.get(url, HTTP_IF_NONE_MATCH=shown["ETag"]).status_code == 304
    file = SimpleUploadedFile("x.html", png(width=2), content_type="text/html")
    assert alice.put(url, {"file": file}, format="multipart").status_code == 204
    assert alice.get(url)["Content-Type"] == "image/png"
    assert alice.delete(url).status_code == 204
    assert alice.get(url).status_code == 404


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_another_picture_becomes_a_png_card(alice: APIClient, kind: str) -> None:
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (20, 30), "red").save(file, kind)
    character = alice.post(URL, {"name": "Mira"}, format="json").json()
    assert alice.put(f"{URL}{character['id']}/image/", file.getvalue(), content_type="image/jpeg").status_code == 204
    assert alice.get(f"{URL}{character['id']}/image/")["Content-Type"] == f"image/{kind.lower()}"
    with Image.open(io.BytesIO(exported(alice, character, "png"))) as image:
        assert image.size == (20, 30)


@pytest.mark.parametrize("content", [b"", b"<svg onload=alert(1)>", png()[:-5], b"\xff\xd8\xff garbage"])
def test_what_is_no_picture_is_refused(alice: APIClient, content: bytes) -> None:
    character = alice.post(URL, {"name": "Mira"}, format="json").json()
    url = f"{URL}{character['id']}/image/"
    reply = alice.put(url, content, content_type="image/svg+xml")
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "/file"
    assert alice.get(url).status_code == 404


# Lorebooks


def test_a_cards_book_is_a_lorebook_and_goes_out_again(alice: APIClient) -> None:
    reply = upload(alice, v3_card(character_book=BOOK)).json()
    character, book = reply["characters"][0], reply["lorebooks"][0]
    assert (book["name"], book["character"]) == ("The coast", character["id"])
    assert book["entries"][0]["extensions"]["x"] == 1
    entries = [book["entries"][0] | {"content": "It is green."}, *book["entries"][1:]]
    assert alice.patch(f"{BOOKS}{book['id']}/", {"entries": entries}, format="json").status_code == 200
    written = json.loads(exported(alice, character))["data"]["character_book"]
    assert [entry["content"] for entry in written["entries"]] == ["It is green.", "It is lost."]
    assert written["entries"][1]["unknown"] == 7
    assert alice.delete(f"{BOOKS}{book['id']}/").status_code == 204
    assert "character_book" not in json.loads(exported(alice, character))["data"]


def test_a_book_is_made_changed_and_exported(alice: APIClient) -> None:
    given = {"name": "Coast", "entries": [{"keys": ["stone"], "content": "Blue.", "own": 1}]}
    book = alice.post(BOOKS, given, format="json").json()
    assert book["entries"][0]["insertion_order"] == 100
    assert book["entries"][0]["own"] == 1
    assert alice.patch(f"{BOOKS}{book['id']}/", {"name": "Shore"}, format="json").json()["name"] == "Shore"
    written = alice.get(f"{BOOKS}{book['id']}/export/").json()
    assert written["entries"]["0"]["key"] == ["stone"]
    assert alice.get(f"{BOOKS}{book['id']}/export/?format=v3").json()["spec"] == "lorebook_v3"
    assert alice.get(f"{BOOKS}{book['id']}/export/?format=card").json()["name"] == "Shore"
    assert alice.get(f"{BOOKS}{book['id']}/export/?format=x").status_code == 400


def test_a_character_has_one_book(alice: APIClient, charlie: APIClient) -> None:
    character = alice.post(URL, {"name": "Mira"}, format="json").json()
    given = {"name": "Coast", "character": character["id"]}
    assert alice.post(BOOKS, given, format="json").status_code == 201
    assert alice.post(BOOKS, given, format="json").json()["errors"][0]["pointer"] == "/character"
    other = alice.post(BOOKS, {"name": "Hills"}, format="json").json()
    assert alice.patch(f"{BOOKS}{other['id']}/", given, format="json").status_code == 400
    assert charlie.post(BOOKS, given, format="json").json()["errors"][0]["pointer"] == "/character"
    assert json.loads(exported(alice, character))["data"]["character_book"]["name"] == "Coast"


def test_a_book_unchanged_goes_out_as_it_came(alice: APIClient) -> None:
    given = {"name": "Coast", "own": [1], "entries": {"7": {"uid": 7, "key": ["k"], "content": "c", "odd": 1.0}}}
    book = upload(alice, given, "coast.json", BOOKS).json()["lorebooks"][0]
    assert alice.get(f"{BOOKS}{book['id']}/export/?format=sillytavern").json() == given


@pytest.mark.parametrize(
    ("field", "value", "pointer"),
    [
        ("entries", [{"keys": "stone"}], "/entries/0/keys"),
        ("entries", [{}, {"insertion_order": "1"}], "/entries/1/insertion_order"),
        ("entries", ["x"], "/entries/0"),
        ("scan_depth", -1, "/scan_depth"),
        ("name", "", "/name"),
        ("unknown", 1, "/unknown"),
    ],
)
def test_what_is_wrong_in_a_book_is_named(alice: APIClient, field: str, value: Any, pointer: str) -> None:
    reply = alice.post(BOOKS, {"name": "Coast", field: value}, format="json")
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == pointer
