"""Generation presets: the API, and what they change in a prompt and in the request of the model."""

import pytest
from django.db import IntegrityError, transaction

from apps.chats.operations import update_character
from apps.replies.models import GenerationPreset
from apps.replies.presets import create_preset
from apps.replies.tasks import run_generation
from tests.factories import UserFactory
from tests.llm.scripted_server import document
from tests.prompts.conftest import client_of

URL = "/api/v1/generation-presets/"


def created(api, status=201, **fields):
    response = api.post(URL, {"name": "Calm", **fields}, format="json")
    assert response.status_code == status, response.content
    return response.json()


def texts_of(api, chat, **body):
    shown = api.post(f"/api/v1/chats/{chat.pk}/prompt/preview/", body, format="json")
    assert shown.status_code == 200, shown.content
    return [message["content"] for message in shown.json()["messages"]]


def sent_for(api, server, chat, **body):
    """The model's request for a reply."""
    reply = api.post(f"/api/v1/chats/{chat.pk}/reply/", body, format="json")
    assert reply.status_code == 202, reply.content
    run_generation(generation_id=reply.json()["generation"]["id"])
    return server.of_kind("generation")[-1]


def test_a_preset_is_created_read_changed_and_deleted(api):
    preset = created(api, stop=["\nAlice:"], top_p=0.9)
    assert (preset["temperature"], preset["max_tokens"], preset["system_prompt"]) == (0.8, 1000, "")
    url = f"{URL}{preset['id']}/"
    changed = api.patch(url, {"temperature": 0, "top_p": None}, format="json").json()
    assert (changed["temperature"], changed["top_p"], changed["stop"]) == (0, None, ["\nAlice:"])
    assert api.get(URL).json()["results"] == [api.get(url).json()]
    assert api.delete(url).status_code == 204
    assert api.get(url).status_code == 404


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 201),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", 10**400),
        ("temperature", "1"),
        ("temperature", None),
        ("top_p", 1.1),
        ("top_p", True),
        ("top_k", -1),
        ("top_k", 0.5),
        ("min_p", 1.1),
        ("repetition_penalty", 2.1),
        ("repetition_penalty", 0),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("max_tokens", 10**12),
        ("stop", "a text"),
        ("stop", [""]),
        ("stop", ["x"] * 5),
        ("stop", ["x" * 101]),
        ("stop", [1]),
        ("system_prompt", None),
        ("is_default", "yes"),
        ("temprature", 1),
    ],
)
def test_a_bad_value_is_refused_by_name(api, field, value):
    problem = created(api, 400, **{field: value})
    assert problem["errors"][0]["pointer"].split("/")[1] == field
    preset = created(api)
    assert api.patch(f"{URL}{preset['id']}/", {field: value}, format="json").status_code == 400


def test_one_preset_is_the_default(api, alice):
    first, second = created(api), created(api, name="Wild")
    assert (first["is_default"], second["is_default"]) == (True, False)
    third = created(api, name="New", is_default=True)
    api.patch(f"{URL}{second['id']}/", {"is_default": True}, format="json")
    defaults = GenerationPreset.objects.for_owner(alice).filter(is_default=True)
    assert [str(preset.pk) for preset in defaults] == [second["id"]]
    with pytest.raises(IntegrityError, match="generation_preset_one_default"), transaction.atomic():
        GenerationPreset.objects.for_owner(alice).filter(pk=third["id"]).update(is_default=True)


@pytest.mark.parametrize(
    "values",
    [{"temperature": 3}, {"top_p": -1}, {"top_k": 1001}, {"min_p": 2}, {"repetition_penalty": 3}, {"max_tokens": 0}],
)
def test_the_database_refuses_absurd_values(alice, values):
    with pytest.raises(IntegrityError, match="generation_preset"), transaction.atomic():
        create_preset(alice, name="Absurd", **values)


def test_another_users_preset_is_unknown(api, connect, chat):
    connect()
    other = created(client_of(UserFactory()))
    assert api.get(URL).json()["results"] == []
    for path in ("reply", "prompt/preview"):
        for value in (other["id"], "nonsense", 1):
            response = api.post(f"/api/v1/chats/{chat.pk}/{path}/", {"preset": value}, format="json")
            assert response.status_code == 400
            assert [error["pointer"] for error in response.json()["errors"]] == ["/preset"]


def test_a_reply_is_asked_for_as_its_preset_says(api, connect, server, chat):
    connect()
    created(api)
    wild = created(
        api, name="Wild", temperature=1.5, top_p=0.5, max_tokens=77, stop=["\n{{user}}:", "END"], system_prompt="Rhyme."
    )
    body = sent_for(api, server, chat, preset=wild["id"]).body
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (1.5, 0.5, 77)
    assert body["stop"] == ["\nAlice:", "END"]
    assert body["messages"][0]["content"] == "Rhyme."


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_fields_of_sampling_are_sent_by_the_names_that_servers_know(api, connect, server, chat, backend):
    connect(backend=backend, base_url=f"{server.url}/v1" if backend == "openai" else server.url)
    created(api, top_k=0, min_p=0.05, repetition_penalty=1.1)
    body = sent_for(api, server, chat).body
    sent = body if backend == "openai" else body["options"]
    assert (sent["top_k"], sent["min_p"], sent["repeat_penalty"]) == (0, 0.05, 1.1)
    assert (sent.get("repetition_penalty"), "top_p" in sent) == (1.1 if backend == "openai" else None, False)


def test_a_server_that_refuses_a_field_of_sampling_is_asked_without_it(api, connect, server, chat):
    connect()
    created(api, min_p=0.05, top_k=20)
    refusal = document({"error": {"message": "Unrecognized request arguments: top_k, min_p"}}, 400)
    server.reply_to(lambda request: "min_p" in (request.body or {}), refusal)
    body = sent_for(api, server, chat).body
    assert not {"top_k", "min_p"} & set(body)


def test_the_default_preset_applies_where_none_is_chosen(api, connect, server, chat):
    connect()
    body = sent_for(api, server, chat).body
    assert (body["temperature"], body["max_tokens"]) == (0.8, 1000)
    assert not {"top_p", "top_k", "min_p", "repeat_penalty", "repetition_penalty", "stop"} & set(body)
    created(api, temperature=0.1, post_history_instructions="Be brief, {{char}}.")
    body = sent_for(api, server, chat, mode="swipe").body
    assert body["temperature"] == 0.1
    assert body["messages"][-1]["content"] == texts_of(api, chat)[-1] == "Be brief, Mira."


def test_a_preset_deleted_before_its_reply_leaves_the_default_one(api, connect, server, chat):
    connect()
    created(api, temperature=0.1)
    gone = created(api, name="Gone", temperature=1.9)
    requested = api.post(f"/api/v1/chats/{chat.pk}/reply/", {"preset": gone["id"]}, format="json").json()
    api.delete(f"{URL}{gone['id']}/")
    run_generation(generation_id=requested["generation"]["id"])
    assert server.of_kind("generation")[-1].body["temperature"] == 0.1


def test_a_reply_longer_than_half_of_the_context_is_not_asked_for(api, connect, server, chat):
    connection = connect()
    preset = created(api, max_tokens=1_000_000)
    assert sent_for(api, server, chat, preset=preset["id"]).body["max_tokens"] == connection.context_tokens // 2


def test_the_cards_own_texts_take_precedence_and_can_name_the_presets(api, chat):
    preset = created(api, system_prompt="{{original}} Rhyme.", post_history_instructions="Stay kind.")
    texts = texts_of(api, chat, preset=preset["id"])
    assert texts[0].startswith("Write the next reply of Mira")
    assert texts[0].endswith("Rhyme.")
    update_character(chat.character, system_prompt="I am Mira.", post_history_instructions="{{original}} And true.")
    texts = texts_of(api, chat, preset=preset["id"])
    assert (texts[0], texts[-1]) == ("I am Mira.", "Stay kind. And true.")


def test_a_macro_of_memory_in_a_preset_takes_the_place_of_its_slot(api, alice, chat):
    from tests.factories import make_memory

    make_memory(chat, "The well is deep.")
    assert "The well is deep." in "".join(texts_of(api, chat))
    preset = created(api, system_prompt="You know: {{smartmemory-longterm}}")
    texts = texts_of(api, chat, preset=preset["id"])
    assert "The well is deep." in texts[0]
    assert "".join(texts).count("The well is deep.") == 1
