"""The page of instances and conflicts."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.common.scoping import system_scope
from apps.instances.models import Conflict
from tests.instances.conftest import KEY, memory, push

PAGE = "/settings/instances/"


@pytest.fixture
def page(alice: APIClient) -> Client:
    client = Client()
    client.force_login(alice.user)
    return client


def conflict_of(alice: APIClient) -> str:
    push(alice, "desk", memories=[memory("desk", {"desk": 1})])
    push(alice, "phone", memories=[memory("phone", {"phone": 1}, "The key is <b>gold</b>.")])
    with system_scope():
        return f"{PAGE}conflicts/{Conflict.objects.get().pk}/settle/"


def test_it_shows_instances_and_both_texts_of_a_conflict(alice: APIClient, page: Client) -> None:
    assert "Desk" in page.get(PAGE).content.decode()
    conflict_of(alice)
    shown = page.get(PAGE).content.decode()
    assert "The key is silver." in shown
    assert "The key is &lt;b&gt;gold&lt;/b&gt;." in shown


def test_a_person_settles_with_a_text_of_their_own(alice: APIClient, page: Client) -> None:
    url = conflict_of(alice)
    refused = page.post(url, {"choice": "text", "text": " "}, follow=True).content.decode()
    assert "Write the text that is to stand." in refused
    assert "Settled." in page.post(url, {"choice": "text", "text": "Gold."}, follow=True).content.decode()
    assert alice.get(f"/api/v1/memories/{KEY}/").json()["text"] == "Gold."
    again = page.post(url, {"choice": "ours"}, follow=True).content.decode()
    assert "This conflict is settled already." in again


def test_an_account_without_instances_has_a_page(alice: APIClient, page: Client) -> None:
    for name in ("desk", "phone"):
        alice.delete(f"/api/v1/instances/{name}/")
    assert "No program shares your memories yet." in page.get(PAGE).content.decode()
