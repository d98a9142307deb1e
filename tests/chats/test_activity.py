"""What goes on in a chat, as the ring in the list of chats shows it."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.chats.pages import plugins
from apps.chats.pages.plugins import Activity
from tests.factories import UserFactory, make_chat

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("done", "total", "percent"), [(0, 0, 0), (1, 4, 25), (4, 4, 100), (9, 4, 100)])
def test_percent(done, total, percent):
    assert Activity(done, total).percent == percent


def test_the_ring_is_there_while_something_goes_on(monkeypatch):
    alice = UserFactory()
    chat = make_chat(alice, "One.")
    site = Client()
    site.force_login(alice)
    ring = reverse("chats:activity", args=[chat.pk])
    assert "ring" not in site.get(ring).content.decode().replace("ring that fills", "")
    monkeypatch.setattr(plugins, "activity_sources", [lambda owner, ids: {pk: Activity(1, 4) for pk in ids}])
    assert "Remembering, 25 %" in site.get("/").content.decode()
    assert f'hx-get="{ring}"' in site.get(ring).content.decode()


def test_no_chats_ask_nobody(monkeypatch):
    monkeypatch.setattr(plugins, "activity_sources", [lambda owner, ids: pytest.fail("asked")])
    assert plugins.activities_of(UserFactory(), []) == {}
