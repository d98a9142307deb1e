"""Test the recall card."""

import re

import pytest
from django.test import Client

from apps.chats.models import Message
from apps.injection.cards import recall_panel
from apps.injection.models import Recall
from apps.injection.operations import recall_turn
from apps.memories.models import MemorySource
from tests.factories import UserFactory

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def turn(alice, chat, memories) -> Message:
    return Message.objects.for_owner(alice).with_swipes().filter(chat=chat).order_by("index").last()


@pytest.fixture
def url(chat, turn) -> str:
    return f"/chats/{chat.pk}/messages/{turn.pk}/recall/"


@pytest.fixture
def site(alice) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    return client


def post(site, url, **data):
    """Post as a browser does, with the CSRF token of the card's form."""
    html = site.get(f"{url.split('/recall/')[0]}/recall/?change", **HTMX).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', html)[1]
    return site.post(url, data | {"csrfmiddlewaretoken": token}, **HTMX)


def test_all_cards_of_a_page_cost_two_queries(alice, chat, memories, turn, django_assert_num_queries):
    messages = list(Message.objects.for_owner(alice).with_swipes().filter(chat=chat).order_by("index"))
    said = messages[1]
    MemorySource.objects.create(owner_id=alice.pk, memory=memories[0], message=said, swipe=said.active_swipe)
    for message in messages[0::10]:
        recall_turn(chat, message)
    with django_assert_num_queries(2):
        html = recall_panel(alice, messages)
    assert "Recalled" in html[turn.pk]
    assert "The silver key lies under the blue stone." in html[turn.pk]
    assert f"/chats/{chat.pk}/?at=1" in html[turn.pk]
    assert "said 29 messages ago" in html[turn.pk]


def test_a_turn_just_sent_shows_a_pending_card(alice, turn, site, url):
    html = recall_panel(alice, [turn])[turn.pk]
    assert f'hx-get="{url}"' in html
    card = site.get(url, **HTMX).content.decode()
    assert "Recalled" in card
    assert Recall.objects.for_owner(alice).filter(message=turn).exists()


def test_text_of_memories_is_escaped(alice, chat, turn, remember):
    remember("The key <script>alert(1)</script> is silver.")
    recall_turn(chat, turn)
    assert "<script>" not in recall_panel(alice, [turn])[turn.pk]


def test_edit_rerun_delete_and_undo(alice, turn, site, url):
    site.get(url, **HTMX)
    card = post(site, f"{url}edit/", text="The key is made of glass.")
    assert "The key is made of glass." in card.content.decode()
    row = Recall.objects.for_owner(alice).get(message=turn)
    assert (row.text, row.edited) == ("The key is made of glass.", True)
    gone = post(site, f"{url}delete/").content.decode()
    row.refresh_from_db()
    assert (row.deleted, row.text, row.memories) == (True, "", [])
    values = re.search(r'name="values" value="([^"]+)"', gone)[1]
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', gone)[1]
    back = site.post(f"{url}restore/", {"values": values, "csrfmiddlewaretoken": token}, **HTMX)
    assert "The key is made of glass." in back.content.decode()
    post(site, f"{url}rerun/")
    assert "blue stone" in Recall.objects.for_owner(alice).get(message=turn).text


def test_undo_accepts_only_values_signed_by_the_server(turn, site, url):
    site.get(url, **HTMX)
    assert post(site, f"{url}restore/", values="forged").status_code == 400
    assert post(site, f"{url}restore/").status_code == 400


def test_an_edit_that_is_too_long_keeps_the_card(alice, turn, site, url):
    site.get(url, **HTMX)
    before = Recall.objects.for_owner(alice).get(message=turn).text
    assert post(site, f"{url}edit/", text="x" * 100_001).status_code == 400
    assert post(site, f"{url}edit/", text="nul \x00").status_code == 400
    assert Recall.objects.for_owner(alice).get(message=turn).text == before


def test_another_user_gets_404(chat, turn, site, url):
    site.get(url, **HTMX)
    stranger = Client()
    stranger.force_login(UserFactory())
    assert stranger.get(url).status_code == 404
    for action in ("edit", "rerun", "delete", "restore"):
        assert stranger.post(f"{url}{action}/", {"text": "x"}).status_code == 404
    theirs = chat.messages.get(index=1)
    assert site.get(f"/chats/{chat.pk}/messages/{theirs.pk}/recall/").status_code == 404


def test_without_htmx_the_card_is_a_page(turn, site, url):
    reply = site.get(url)
    assert "<h1>Recall</h1>" in reply.content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', reply.content.decode())[1]
    saved = site.post(f"{url}edit/", {"text": "Glass.", "csrfmiddlewaretoken": token})
    assert saved.status_code == 302
    assert saved["Location"].endswith(f"?at={turn.index}")
    assert "Glass." in site.get(url).content.decode()
