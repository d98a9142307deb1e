"""The API of replies: request, read, follow, stop."""

import json
import time

import pytest

from apps.replies import streams
from apps.replies.models import Generation
from apps.replies.tasks import run_generation
from tests.coroutines import in_thread
from tests.factories import UserFactory
from tests.llm.scripted_server import Reply
from tests.prompts.conftest import client_of


def post(api, chat, status=202, **body):
    response = api.post(f"/api/v1/chats/{chat.pk}/reply/", body, format="json")
    assert response.status_code == status, response.content
    return response.json()


def test_a_reply_is_requested_run_and_read(connect, server, chat, api):
    connect()
    server.reply_with("It is here.")
    generation = post(api, chat, integrity=str(chat.integrity))["generation"]
    assert (generation["state"], generation["text"], generation["message"]) == ("queued", "", None)
    run_generation(generation_id=generation["id"])
    read = api.get(f"/api/v1/generations/{generation['id']}/").json()
    assert (read["state"], read["text"], read["error"]) == ("succeeded", "It is here.", "")
    assert api.get(f"/api/v1/chats/{chat.pk}/messages/").json()["results"][-1]["mes"] == "It is here."


def test_bad_requests_are_refused(connect, chat, api):
    post(api, chat, 400)
    connect()
    assert "mode" in str(post(api, chat, 400, mode="shout"))
    assert "character" in str(post(api, chat, 400, character="nobody"))
    assert "mode" in str(post(api, chat, 400, mode="swipe"))
    post(api, chat, 409, integrity="00000000-0000-4000-8000-000000000000")
    post(api, chat)
    post(api, chat, 409)


def test_a_stopped_reply_ends_its_stream(connect, chat, api):
    connect()
    generation = post(api, chat)["generation"]
    for _ in range(2):
        stopped = api.post(f"/api/v1/generations/{generation['id']}/stop/")
        assert stopped.json()["state"] == "stopped"
    events = api.get(f"/api/v1/generations/{generation['id']}/events/").getvalue().decode()
    assert "event: done" in events
    assert '"state":"stopped"' in events


def test_events_continue_after_the_last_one_received(chat, api):
    generation = Generation.objects.create(owner_id=chat.owner_id, chat=chat, text="It is\nhere.", state="succeeded")
    url = f"/api/v1/generations/{generation.pk}/events/"
    whole = api.get(url).getvalue().decode()
    assert json.loads(whole.split("data: ")[1].split("\n")[0]) == {"text": "It is\nhere."}
    rest = api.get(url, headers={"Last-Event-ID": "6"}).getvalue().decode()
    assert 'id: 11\nevent: delta\ndata: {"text":"here."}' in rest
    assert "event: delta" not in api.get(url, headers={"Last-Event-ID": "11"}).getvalue().decode()
    assert "event: delta" in api.get(url, headers={"Last-Event-ID": "²"}).getvalue().decode()


@pytest.mark.parametrize(("prefix", "data"), [("Yes.", {"text": "It is", "joint": " "}), ("Yes, ", {"text": "It is"})])
def test_events_of_a_continuation_say_what_joins_it_to_the_text_before(chat, api, prefix, data):
    generation = Generation.objects.create(
        owner_id=chat.owner_id, chat=chat, mode="continue", prefix=prefix, text="It is", state="succeeded"
    )
    whole = api.get(f"/api/v1/generations/{generation.pk}/events/").getvalue().decode()
    assert json.loads(whole.split("data: ")[1].split("\n")[0]) == data


def test_events_have_the_text_so_far_as_pages_show_it_for_those_who_ask(chat, api):
    generation = Generation.objects.create(
        owner_id=chat.owner_id, chat=chat, mode="continue", prefix="*Yes.*", text="<b>It</b> *is*", state="running"
    )
    url = f"/api/v1/generations/{generation.pk}/events/"
    whole = api.get(f"{url}?html", headers={"Last-Event-ID": "9"}).getvalue().decode()
    assert json.loads(whole.split("data: ")[1].split("\n")[0]) == {
        "text": " *is*",
        "html": "<p><em>Yes.</em>&lt;b&gt;It&lt;/b&gt; <em>is</em></p>\n",
    }
    assert "html" not in api.get(url).getvalue().decode()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*She nods", "<p><em>She nods</em></p>\n"),
        ("*She nods.* He ", "<p><em>She nods.</em> He</p>\n"),
        ("She nods. *", "<p>She nods.</p>\n"),
        ("* One\n* Two", "<ul>\n<li>One</li>\n<li>Two</li>\n</ul>\n"),
    ],
)
def test_marks_that_are_not_closed_yet_are_not_shown(chat, api, text, html):
    generation = Generation.objects.create(owner_id=chat.owner_id, chat=chat, text=text, state="running")
    whole = api.get(f"/api/v1/generations/{generation.pk}/events/?html").getvalue().decode()
    assert json.loads(whole.split("data: ")[1].split("\n")[0])["html"] == html


@pytest.mark.django_db(transaction=True)
def test_a_stream_follows_the_text_to_its_end(monkeypatch):
    from tests.factories import make_chat

    monkeypatch.setattr(streams, "POLL_INTERVAL", 0.01)
    chat = make_chat(UserFactory(), "Hello.")
    generation = Generation.objects.create(owner_id=chat.owner_id, chat=chat, text="It", state="running")
    rows = Generation.objects.for_owner(chat.owner_id).filter(pk=generation.pk)

    async def follow() -> list[bytes]:
        received = []
        async for chunk in streams.stream(chat.owner_id, generation.pk, 0):
            received.append(chunk)
            if len(received) == 2:
                await rows.aupdate(text="It is", state="failed", error="Gone.")
        return received

    received = in_thread(follow)
    assert b'"text":"It"' in received[1]
    assert b'"text":" is"' in received[2]
    assert b"event: error" in received[2]


def test_nobody_else_follows_or_stops_a_reply(chat):
    generation = Generation.objects.create(owner_id=chat.owner_id, chat=chat)
    stranger = client_of(UserFactory())
    for url in ("", "events/"):
        assert stranger.get(f"/api/v1/generations/{generation.pk}/{url}").status_code == 404
    assert stranger.post(f"/api/v1/generations/{generation.pk}/stop/").status_code == 404


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
def test_a_reply_that_is_stopped_in_mid_stream_keeps_its_text_marked_as_partial(
    kept_celery_worker, connect, server, chat, api
):
    connect(stream=True)
    server.reply_with(Reply("It is here, below the stone. " * 20, pace=0.5, stream=True))
    kept_celery_worker("replies")
    url = f"/api/v1/generations/{post(api, chat)['generation']['id']}/"
    deadline = time.monotonic() + 60
    while not (read := api.get(url).json())["message"]:
        assert time.monotonic() < deadline, read
        time.sleep(0.1)
    stopped = api.post(f"{url}stop/").json()
    assert (stopped["state"], stopped["error"]) == ("stopped", "")
    time.sleep(2)  # longer than the worker takes to notice
    last = chat.messages.order_by("-index").first()
    assert last.mes.startswith("It is here")
    assert len(last.mes) < 20 * 29
    assert last.extra["loci"]["partial"] is True
    assert api.get(url).json()["text"] == last.mes
