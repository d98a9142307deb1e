"""Test the recap that a chat opens with after its owner was away."""

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.llm.operations import create_connection, use_for
from apps.prompts import away_recaps as operations
from apps.prompts.models import AwayRecap
from apps.prompts.tasks import write_recap
from tests.factories import make_memory, parsed
from tests.llm.scripted_server import ScriptedServer


def leave(chat, hours):
    """Let the last activity of the chat be some hours ago."""
    then = timezone.now() - dt.timedelta(hours=hours)
    Chat.objects.for_owner(chat.owner_id).filter(pk=chat.pk).update(last_active=then, last_used=then)


@pytest.fixture
def url(chat):
    return f"/api/v1/chats/{chat.pk}/recap/"


@pytest.fixture
def page(alice):
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def model(alice, monkeypatch):
    """Connect a model. Tasks that are sent are only noted."""
    sent = []
    monkeypatch.setattr(operations.current_app, "send_task", lambda name, kwargs, queue: sent.append(kwargs))
    with ScriptedServer("Mira left the city.") as server:
        connection = create_connection(
            alice, name="s", backend="openai", base_url=f"{server.url}/v1", model="m", timeout=2
        )
        use_for(connection, generation=True)
        server.sent_tasks = sent
        yield server


def test_after_an_absence_the_chat_tells_what_it_knows(api, chat, memories, url):
    leave(chat, 4)
    recap = api.get(url).json()
    assert recap["text"] == "They left the city at dawn."
    assert (recap["by_model"], recap["pending"]) == (False, False)


@pytest.mark.parametrize(("hours", "status"), [(3.9, 204), (4.1, 200), (2000, 200)])
def test_it_is_due_after_four_hours(api, chat, memories, url, hours, status):
    leave(chat, hours)
    assert api.get(url).status_code == status


@pytest.mark.parametrize(("setting", "status"), [(0, 204), (24, 204), (9, 200)])
def test_the_hours_are_a_setting(api, chat, memories, url, setting, status):
    leave(chat, 10)
    settings_url = f"/api/v1/chats/{chat.pk}/injection-settings/"
    assert api.patch(settings_url, {"recap_hours": setting}).status_code == 200
    assert api.get(url).status_code == status


@pytest.mark.parametrize("hours", [-1, 8761, "4", 1.5, True, None])
def test_bad_hours_are_a_400_that_names_the_field(api, chat, hours):
    reply = api.patch(f"/api/v1/chats/{chat.pk}/injection-settings/", {"recap_hours": hours})
    if hours is None:  # removes the setting
        assert reply.status_code == 200
        return
    assert reply.status_code == 400
    assert "recap_hours" in reply.json()["errors"][0]["pointer"]


def test_it_is_shown_once_for_each_absence(api, alice, chat, memories, url):
    leave(chat, 10)
    first, second = api.get(url), api.get(url)
    assert first.json() == second.json()
    assert api.post(f"{url}dismiss/").status_code == 204
    assert api.get(url).status_code == 204
    assert api.post(f"{url}dismiss/").status_code == 204
    append_messages(alice, chat.pk, [parsed("I am back.", is_user=True)])
    assert api.get(url).status_code == 204
    leave(chat, 5)
    assert api.get(url).status_code == 200
    assert AwayRecap.objects.for_owner(alice).count() == 1


def test_nothing_is_shown_when_nothing_is_known(api, alice, chat, url):
    leave(chat, 10)
    assert api.get(url).status_code == 204
    assert api.post(f"{url}dismiss/").status_code == 204
    assert not AwayRecap.objects.for_owner(alice).exists()


def test_hidden_and_retired_memories_are_not_told(api, chat, url):
    make_memory(chat, "Hidden.", tier="session", kind="scene", hidden=True)
    make_memory(chat, "Retired.", tier="session", kind="scene", state="retired")
    leave(chat, 10)
    assert api.get(url).status_code == 204


def test_the_model_writes_it(api, alice, chat, memories, url, model, django_capture_on_commit_callbacks):
    leave(chat, 10)
    with django_capture_on_commit_callbacks(execute=True):
        first = api.get(url).json()
    assert (first["text"], first["pending"]) == ("They left the city at dawn.", True)
    api.get(url)
    assert len(model.sent_tasks) == 1
    for _ in range(2):  # a task that is delivered twice asks once
        write_recap(**model.sent_tasks[0])
    recap = api.get(url).json()
    assert (recap["text"], recap["by_model"], recap["pending"]) == ("Mira left the city.", True, False)
    assert len(model.requests) == 1


def test_a_model_that_cannot_be_reached_leaves_what_is_known(api, chat, memories, url, model):
    leave(chat, 10)
    api.get(url)
    recap = AwayRecap.objects.for_owner(chat.owner_id).get()
    model.__exit__(None, None, None)
    write_recap(owner_id=str(chat.owner_id), chat_id=str(chat.pk), recap_id=str(recap.pk))
    after = api.get(url).json()
    assert (after["text"], after["by_model"], after["pending"]) == ("They left the city at dawn.", False, False)


def test_a_model_that_never_answers_is_not_waited_for(api, chat, memories, url, model):
    leave(chat, 10)
    assert api.get(url).json()["pending"]
    earlier = timezone.now() - operations.MAX_WAIT
    AwayRecap.objects.for_owner(chat.owner_id).update(asked_at=earlier)
    assert not api.get(url).json()["pending"]


def test_another_user_gets_404(api, stranger, chat, memories, url):
    leave(chat, 10)
    assert stranger.get(url).status_code == stranger.post(f"{url}dismiss/").status_code == 404
    assert api.get(url).status_code == 200


def test_the_page_shows_a_dialog_until_it_is_dismissed(page, chat, memories):
    leave(chat, 10)
    path = f"/chats/{chat.pk}/recap/"
    assert path in page.get(f"/chats/{chat.pk}/").content.decode()
    html = page.get(path).content.decode()
    assert "<dialog" in html
    assert "They left the city at dawn." in html
    assert page.post(f"{path}dismiss/", headers={"HX-Request": "true"}).content == b""
    assert page.get(path).status_code == 204


def test_text_of_memories_is_escaped(page, chat):
    make_memory(chat, "<script>alert(1)</script> {{ char }}", tier="session", kind="scene")
    leave(chat, 10)
    html = page.get(f"/chats/{chat.pk}/recap/").content.decode()
    assert "&lt;script&gt;alert(1)" in html
