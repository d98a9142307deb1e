"""Pages and the API's replies are compressed for those who accept it, exports are not."""

import gzip

import pytest
from django.test import Client

from tests.factories import UserFactory, make_chat

ACCEPTS = {"HTTP_ACCEPT_ENCODING": "gzip"}


@pytest.mark.django_db
def test_a_page_is_compressed_with_padding_of_a_random_length() -> None:
    alice = UserFactory()
    chat = make_chat(alice, *["What is said here is said again."] * 20)
    site = Client()
    site.force_login(alice)
    replies = [site.get(f"/chats/{chat.pk}/", **ACCEPTS) for _ in range(4)]
    assert {reply["Content-Encoding"] for reply in replies} == {"gzip"}
    page = gzip.decompress(replies[0].content)
    assert b"said again" in page
    assert len(replies[0].content) < len(page) / 3
    assert len({len(reply.content) for reply in replies}) > 1
    assert "Content-Encoding" not in site.get(f"/chats/{chat.pk}/")
    window = site.get(f"/api/v1/chats/{chat.pk}/messages/", **ACCEPTS)
    assert gzip.decompress(window.content).count(b"said again") == 40  # mes and its swipe
    assert "Content-Encoding" not in site.get(f"/api/v1/chats/{chat.pk}/messages/")
    assert "Content-Encoding" not in site.get(f"/api/v1/chats/{chat.pk}/export/?format=jsonl", **ACCEPTS)
