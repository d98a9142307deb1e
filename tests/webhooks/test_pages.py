"""The pages of webhooks: add one, see its secret once, send a test, try a delivery again, delete it."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.webhooks.models import TEST, Delivery, Webhook
from apps.webhooks.operations import create_webhook
from tests.factories import UserFactory
from tests.queues import drain
from tests.webhooks.test_webhooks import ALL, Receiver, api, receiver

__all__ = ["api", "receiver"]

pytestmark = pytest.mark.django_db(transaction=True)
INDEX = "/settings/webhooks/"


@pytest.fixture
def user() -> User:
    return UserFactory()


@pytest.fixture
def visitor(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_a_webhook_is_added_and_its_secret_shown_once(visitor: Client, user: User, receiver: Receiver) -> None:
    assert "You have no webhooks." in visitor.get(INDEX).content.decode()
    shown = visitor.post(INDEX, {"url": receiver.url, "events": ALL[:2]}).content.decode()
    webhook = Webhook.objects.for_owner(user).get()
    assert webhook.secret in shown
    assert (webhook.url, webhook.events, webhook.active) == (receiver.url, ALL[:2], True)
    again = visitor.get(INDEX).content.decode()
    assert receiver.url in again
    assert webhook.secret not in again
    assert webhook.secret not in visitor.get(reverse("webhooks:detail", args=[webhook.pk])).content.decode()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"url": "http://127.0.0.1:9/", "events": []},
        {"url": "gopher://127.0.0.1/", "events": ALL},
        {"url": "http://127.0.0.1:9/", "events": ["memory.eaten"]},
        {"url": "http://127.0.0.1:9/" + "x" * 600, "events": ALL},
        {"url": "\x00", "events": ALL},
    ],
)
def test_what_is_no_webhook_is_told_beside_its_field(
    visitor: Client, user: User, receiver: Receiver, fields: dict[str, Any]
) -> None:
    reply = visitor.post(INDEX, fields)
    assert reply.status_code == (400 if fields else 200)
    assert ("field-error" in reply.content.decode()) == bool(fields)
    assert not Webhook.objects.for_owner(user).exists()


def test_a_test_is_sent_and_a_failed_delivery_sent_again(visitor: Client, user: User, receiver: Receiver) -> None:
    webhook = create_webhook(user, url=receiver.url, events=ALL)
    page = reverse("webhooks:detail", args=[webhook.pk])
    receiver.statuses = [410]
    for _ in range(2):  # a second click before it was sent changes nothing
        assert visitor.post(reverse("webhooks:test", args=[webhook.pk])).url == page
    drain("models")
    assert [one["type"] for one in receiver.documents] == [TEST]
    delivery = Delivery.objects.for_owner(user).get()
    shown = visitor.get(page).content.decode()
    assert "given up" in shown
    assert "410" in shown
    visitor.post(reverse("webhooks:retry", args=[webhook.pk, delivery.pk]))
    drain("models")
    delivery.refresh_from_db()
    assert (delivery.state, len(receiver.calls)) == ("delivered", 2)
    assert "arrived" in visitor.get(page).content.decode()


def test_one_is_changed_turned_off_and_deleted(visitor: Client, user: User, receiver: Receiver) -> None:
    webhook = create_webhook(user, url=receiver.url, events=ALL)
    page = reverse("webhooks:detail", args=[webhook.pk])
    assert visitor.post(page, {"url": "nowhere", "events": ALL}).status_code == 400
    assert visitor.post(page, {"url": receiver.url, "events": ["run.ended"]}).url == page
    webhook.refresh_from_db()
    assert (webhook.events, webhook.active) == (["run.ended"], False)
    visitor.post(reverse("webhooks:test", args=[webhook.pk]))
    assert not Delivery.objects.for_owner(user).exists()
    visitor.post(reverse("webhooks:delete", args=[webhook.pk]))
    assert not Webhook.objects.for_owner(user).exists()


def test_another_users_webhook_does_not_exist(visitor: Client, receiver: Receiver) -> None:
    other = create_webhook(UserFactory(), url=receiver.url, events=ALL)
    assert visitor.get(reverse("webhooks:detail", args=[other.pk])).status_code == 404
    for name in ("delete", "test"):
        assert visitor.post(reverse(f"webhooks:{name}", args=[other.pk])).status_code == 404
    assert Webhook.objects.for_owner(other.owner_id).exists()
