"""What a user may store is limited by whichever way they write, and they see what is left."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from apps.accounts.models import StorageUse
from apps.accounts.tasks import count_storage
from apps.chats.models import Character, Chat, Message, Persona
from apps.chats.operations import append_messages, create_chat, delete_chat, introduce
from apps.chats.quotas import QuotaExceeded
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, parsed

LINES = [{"user_name": "Alice", "character_name": "Mira"}, *({"name": "Mira", "mes": f"{n}"} for n in range(4))]


def messages_of(owner: Any) -> int:
    return Message.objects.for_owner(owner).count()


def test_messages_beyond_the_quota_are_refused_and_nothing_of_them_is_stored(db: None, settings: Any) -> None:
    alice, bob = UserFactory(), UserFactory()
    chat, other = make_chat(alice, "a", "b"), make_chat(alice, "c")
    settings.QUOTA_MESSAGES = 5
    api = client_of(alice)
    address = f"/api/v1/chats/{chat.pk}/"
    integrity = api.get(address).json()["integrity"]
    three = [{"name": "Alice", "is_user": True, "mes": text} for text in "xyz"]
    reply = api.post(f"{address}append/", {"integrity": integrity, "messages": three}, format="json")
    assert (reply.status_code, reply.json()["type"]) == (413, "/problems/quota-exceeded")
    assert {name: reply.json()[name] for name in ("quota", "limit", "left")} == {
        "quota": "messages",
        "limit": 5,
        "left": 2,
    }
    assert messages_of(alice) == 3
    fitting = {"integrity": integrity, "messages": three[:2]}
    assert api.post(f"{address}append/", fitting, format="json").status_code == 201
    integrity = api.get(address).json()["integrity"]
    inserted = {"integrity": integrity, "patches": [{"index": 0, "insert_before": three[0]}]}
    edited = {"integrity": integrity, "patches": [{"index": 0, "set": {"mes": "edited"}}]}
    statuses = [api.post(f"{address}patch/", body, format="json").status_code for body in (inserted, edited)]
    assert statuses == [413, 200]
    upload = SimpleUploadedFile("chat.jsonl", "\n".join(map(json.dumps, LINES)).encode())
    assert api.post("/api/v1/chats/import/", {"file": upload}, format="multipart").status_code == 413
    assert api.post(f"{address}branch/", {"at": 0}, format="json").status_code == 413
    assert messages_of(alice) == 5
    append_messages(bob, make_chat(bob).pk, [parsed("d")])
    site = Client()
    site.force_login(alice)
    page = site.post(f"/chats/{chat.pk}/write/", {"text": "f"}, headers={"HX-Request": "true"})
    assert (page.status_code, page["HX-Retarget"]) == (400, "#composer-errors")
    assert "You can have 5 messages" in page.content.decode()
    message = chat.messages.get(index=1)
    for url in (f"/chats/{chat.pk}/write/", f"/chats/{chat.pk}/messages/{message.pk}/insert/"):
        page = site.post(url, {"text": "A long thought."})
        assert "You can have 5 messages" in page.content.decode()
        assert "A long thought.</textarea>" in page.content.decode()
    delete_chat(other)
    with pytest.raises(QuotaExceeded):  # the bin is included
        append_messages(alice, chat.pk, [parsed("e")])


def test_chats_beyond_the_quota_are_refused(db: None, settings: Any) -> None:
    alice = UserFactory()
    settings.QUOTA_CHATS = 2
    api = client_of(alice)
    assert [api.post("/api/v1/chats/", {"title": "x"}).status_code for _ in range(3)] == [201, 201, 413]
    site = Client()
    site.force_login(alice)
    mira = make_character(alice, name="Mira")
    for url, fields in (
        ("/chats/new/", {"title": "The long road", "character": "Ione", "user_name": "Ali"}),
        (f"/characters/{mira.pk}/start/", {"name": "Ali"}),
    ):
        page = site.post(url, fields)
        html = page.content.decode()
        assert (page.status_code, "You can have 2 chats, and have 2." in html) == (400, True)
        assert all(f'value="{value}"' in html for value in fields.values())
    assert Chat.objects.for_owner(alice).count() == 2
    assert [row.name for row in Character.objects.for_owner(alice)] == ["Mira"]
    assert not Persona.objects.for_owner(alice).exists()
    introduce(alice, "Al")
    page = site.post(f"/characters/{mira.pk}/start/")  # nothing was written that could be lost
    assert page.status_code == 413


@pytest.mark.django_db(transaction=True)
def test_writes_at_the_same_time_exceed_no_quota(settings: Any) -> None:
    alice = UserFactory()
    chats = [make_chat(alice) for _ in range(4)]
    settings.QUOTA_MESSAGES = 10

    def write(chat: Chat) -> int:
        stored = 0
        try:
            for _ in range(5):
                append_messages(alice, chat.pk, [parsed("x")])
                stored += 1
        except QuotaExceeded:
            pass
        finally:
            connection.close()
        return stored

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(write, chats)) == 10
    assert messages_of(alice) == 10


def test_storage_is_counted_and_limited(db: None, settings: Any) -> None:
    alice, bob = UserFactory(), UserFactory()
    chat = make_chat(alice, *(f"{n} {'word ' * 2000}" for n in range(200)))
    settings.QUOTA_MEGABYTES = 0
    count_storage()
    assert not StorageUse.objects.for_owner(alice).exists()
    settings.QUOTA_MEGABYTES = 1
    Chat.objects.for_owner(alice).update(metadata={"random": [n * 7919 % 99991 for n in range(300_000)]})
    count_storage()
    assert StorageUse.objects.for_owner(alice).get().bytes > 1_000_000 > StorageUse.objects.for_owner(bob).get().bytes
    with pytest.raises(QuotaExceeded, match="bytes of storage"):
        append_messages(alice, chat.pk, [parsed("x")])
    append_messages(bob, create_chat(bob, title="x").pk, [parsed("x")])


def test_settings_show_what_is_left(db: None, settings: Any) -> None:
    alice = UserFactory()
    make_chat(alice, "a", "b")
    site = Client()
    site.force_login(alice)
    page = site.get("/settings/usage/").content.decode()
    assert page.count("without a limit") == 3
    settings.QUOTA_MESSAGES, settings.QUOTA_CHATS, settings.LLM_DAILY_TOKENS = 1500, 10, 2000
    page = " ".join(site.get("/settings/usage/").content.decode().split())
    assert "1 of 10, 9 left" in page
    assert "2 of 1,500, 1,498 left" in page
    assert "0 of 2,000, 2,000 left" in page
