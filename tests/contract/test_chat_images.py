"""Images that are uploaded to a chat, and shown in the text of its messages."""

import base64
import io
import json
import re
from typing import Any

import pytest
from PIL import Image
from rest_framework.test import APIClient

from apps.chats.models import ChatImage
from apps.chats.operations import branch_chat, purge_chat
from apps.chats.operations.images import MAX_IMAGES
from apps.chats.pages.markup import render_text
from tests.contract.test_personas import bomb, photo

CHATS = "/api/v1/chats/"


def uploaded(client: APIClient, chat: dict[str, Any], content: bytes | None = None) -> dict[str, Any]:
    url = f"{CHATS}{chat['id']}/images/"
    reply = client.post(url, content or photo(), content_type="image/jpeg")
    assert reply.status_code == 201, reply.content
    return reply.json()


def said_with(client: APIClient, chat: dict[str, Any], *images: dict[str, Any]) -> None:
    text = "Look. " + " ".join(f"![A map]({image['address']})" for image in images)
    reply = client.post(f"{CHATS}{chat['id']}/append/", {"message": {"is_user": True, "mes": text}})
    assert reply.status_code == 201


def test_an_image_is_stored_small_and_without_metadata(alice: APIClient, chat: dict[str, Any]) -> None:
    exif = Image.Exif()
    exif[0x010E] = "the author's house"
    image = uploaded(alice, chat, photo((3200, 2000), exif=exif))
    assert (image["width"], image["height"]) == (1600, 1000)
    assert image["address"] == f"image:{image['key']}/1600x1000"
    shown = alice.get(f"/api/v1/images/{image['key']}/")
    assert (shown["Content-Type"], shown["Cache-Control"]) == ("image/webp", "private, max-age=31536000, immutable")
    assert shown["Content-Security-Policy"] == "default-src 'none'; sandbox"
    with Image.open(io.BytesIO(shown.content)) as stored:
        assert (stored.size, dict(stored.getexif())) == ((1600, 1000), {})
    assert alice.get(f"{CHATS}{chat['id']}/").json()["integrity"] == chat["integrity"]


@pytest.mark.parametrize(("content", "why"), [(b"<svg/>", "not a PNG"), (bomb(), "10000 by 10000 pixels")])
def test_what_is_no_image_is_refused_by_its_field(
    alice: APIClient, chat: dict[str, Any], content: bytes, why: str
) -> None:
    reply = alice.post(f"{CHATS}{chat['id']}/images/", content, content_type="image/png")
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "/file"
    assert why in reply.json()["errors"][0]["detail"]


def test_a_chat_has_so_many_images(alice: APIClient, chat: dict[str, Any]) -> None:
    rows = [ChatImage(owner_id=alice.user.pk, chat_id=chat["id"], content=b"") for _ in range(MAX_IMAGES)]
    ChatImage.objects.bulk_create(rows)
    reply = alice.post(f"{CHATS}{chat['id']}/images/", photo(), content_type="image/jpeg")
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/file")


def test_an_image_is_shown_in_the_text_with_its_size(alice: APIClient, chat: dict[str, Any]) -> None:
    image = uploaded(alice, chat)
    html = render_text(f'![A "map"]({image["address"]})')
    tag = re.search(r"<img [^>]*>", html)
    assert tag
    expected = (f'src="/api/v1/images/{image["key"]}/"', 'alt="A &quot;map&quot;"', 'width="40"', 'height="60"')
    assert all(part in tag[0] for part in (*expected, 'loading="lazy"'))


@pytest.mark.parametrize("address", ["image:1/2x3", "image:../../x/1x1", f"image:{'0' * 36}/1x1"])
def test_what_is_no_address_is_no_image(address: str) -> None:
    assert "<img" not in render_text(f"![x]({address})")


def test_a_branch_keeps_its_images_when_its_parent_is_gone(alice: APIClient, chat: dict[str, Any]) -> None:
    first, second = uploaded(alice, chat), uploaded(alice, chat)
    said_with(alice, chat, first)
    said_with(alice, chat, second)
    branch_chat(alice.user, chat["id"], chat["message_count"])
    purge_chat(alice.user, chat["id"])
    assert alice.get(f"/api/v1/images/{first['key']}/").status_code == 200
    assert alice.get(f"/api/v1/images/{second['key']}/").status_code == 404
    assert ChatImage.objects.for_owner(alice.user).count() == 1


def test_images_go_with_their_chat(alice: APIClient, chat: dict[str, Any]) -> None:
    uploaded(alice, chat)
    purge_chat(alice.user, chat["id"])
    assert not ChatImage.objects.for_owner(alice.user).exists()


@pytest.mark.parametrize("format_name", ["jsonl", "json", "markdown"])
def test_an_exported_chat_has_its_images_in_its_text(
    alice: APIClient, charlie: APIClient, chat: dict[str, Any], format_name: str
) -> None:
    image = uploaded(alice, chat)
    theirs = uploaded(charlie, charlie.post(CHATS, {"title": "Theirs"}).json())
    said_with(alice, chat, image, theirs)
    file = b"".join(alice.get(f"{CHATS}{chat['id']}/export/?format={format_name}").streaming_content)
    content = alice.get(f"/api/v1/images/{image['key']}/").content
    assert b"data:image/webp;base64," + base64.b64encode(content) in file
    assert theirs["address"].encode() in file  # not Alice's, so it stays a name without an image


def test_an_exported_image_is_shown_where_the_chat_is_imported(alice: APIClient, chat: dict[str, Any]) -> None:
    said_with(alice, chat, uploaded(alice, chat))
    file = b"".join(alice.get(f"{CHATS}{chat['id']}/export/").streaming_content)
    text = json.loads(file.splitlines()[-1])["mes"]
    upload = io.BytesIO(file)
    upload.name = "heist.jsonl"
    imported = alice.post(f"{CHATS}import/", {"file": upload}, format="multipart").json()["chats"][0]
    messages = alice.get(f"{CHATS}{imported['id']}/messages/").json()["results"]
    assert messages[-1]["mes"] == text
    assert '<img src="data:image/webp;base64,' in render_text(text)
