"""The page of instances and conflicts."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.models import ApiToken
from apps.common.scoping import system_scope
from apps.instances.models import Conflict
from tests.instances.conftest import KEY, memory, push, try_push

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


def test_a_person_registers_an_instance_whose_token_is_shown_once(alice: APIClient, page: Client) -> None:
    made = page.post(PAGE, {"name_id": "tablet", "name": "In the <i>kitchen</i>", "type": "app"})
    assert made.status_code == 200
    assert "no-store" in made["Cache-Control"]
    secret = made.context["secret"]
    assert secret in made.content.decode()
    shown = page.get(PAGE).content.decode()
    assert secret not in shown
    assert "In the &lt;i&gt;kitchen&lt;/i&gt;" in shown
    tablet = APIClient()
    tablet.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    push(tablet, "tablet", memories=[memory("tablet", {"tablet": 1})])
    assert try_push(tablet, "desk", memories=[memory("desk", {"desk": 1})]).status_code == 403
    assert "was removed" in page.post(f"{PAGE}tablet/remove/", follow=True).content.decode()
    assert "tablet" not in page.get(PAGE).content.decode()
    assert page.post(f"{PAGE}tablet/remove/").status_code == 404
    assert try_push(tablet, "tablet", memories=[]).status_code == 400


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("desk", "There is an instance"),
        ("loci", "is the name of Loci itself"),
        ("My desk", "Use 1 to 64 of a to z"),
        ("x" * 65, "Use 1 to 64 of a to z"),
        ("", "This field is required"),
    ],
)
def test_a_name_that_can_not_be_registered_is_refused(alice: APIClient, page: Client, name: str, reason: str) -> None:
    with system_scope():
        tokens = ApiToken.objects.count()
    reply = page.post(PAGE, {"name_id": name})
    assert reply.status_code == 400
    assert reason in reply.content.decode()
    assert reply.context["secret"] == ""
    with system_scope():
        assert ApiToken.objects.count() == tokens


def test_an_account_without_instances_has_a_page(alice: APIClient, page: Client) -> None:
    for name in ("desk", "phone"):
        alice.delete(f"/api/v1/instances/{name}/")
    assert "No program shares your memories yet." in page.get(PAGE).content.decode()
