"""A question about a chat is answered from what is remembered, with the sources."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Chat
from tests.factories import UserFactory, make_chat
from tests.llm.scripted_server import Reply, Request, ScriptedServer
from tests.prompts.conftest import client_of

pytestmark = pytest.mark.django_db


def remember(api: APIClient, chat: Chat, text: str) -> str:
    body = {"text": text, "tier": "long_term", "kind": "fact", "character": str(chat.character_id)}
    return str(api.post("/api/v1/memories/", body, format="json").data["id"])


def ask(api: APIClient, chat: Chat, query: str) -> Any:
    return api.post(f"/api/v1/chats/{chat.pk}/answer/", {"query": query}, format="json")


def test_a_model_answers_from_notes_and_its_numbers_are_the_sources(
    api: APIClient, connect: Any, chat: Chat, server: ScriptedServer
) -> None:
    connect()
    memory = remember(api, chat, "The silver key lies in the well.")
    remember(api, chat, "Mira likes plum cake.")
    asked: list[str] = []

    def reply(request: Request) -> str:
        asked.append(request.prompt)
        lines = request.prompt.splitlines()
        number = next(line for line in lines if "silver key" in line and line.startswith("[")).split("]")[0][1:]
        return f"It lies in the well [{number}]."

    server.reply_to(lambda request: request.kind == "generation", reply)
    response = ask(api, chat, "Where is the silver key?")
    assert response.status_code == 200, response.data
    assert response.data["text"].startswith("It lies in the well [")
    assert [source["memory"]["id"] for source in response.data["sources"]] == [memory]
    assert "Where is the silver key?" in asked[0]


def test_without_a_model_the_best_notes_are_quoted(api: APIClient, chat: Chat) -> None:
    memory = remember(api, chat, "The silver key lies in the well.")
    answer = ask(api, chat, "Where is the silver key?").data
    assert (answer["model"], answer["sources"][0]["memory"]["id"]) == ("", memory)
    assert answer["text"].startswith("[1] The silver key lies in the well.")


def test_nothing_is_made_up_where_nothing_is_remembered(api: APIClient, alice: User, connect: Any) -> None:
    connect()
    assert ask(api, make_chat(alice), "Where is the key?").data == {
        "text": "Nothing is remembered about that.",
        "sources": [],
        "model": "",
    }


def test_a_server_that_fails_is_told_and_a_chat_of_others_is_missing(
    api: APIClient, connect: Any, chat: Chat, server: ScriptedServer
) -> None:
    connect()
    remember(api, chat, "The silver key lies in the well.")
    server.reply_to(lambda request: request.kind == "generation", Reply(status=401, text="no"))
    response = ask(api, chat, "Where is the silver key?")
    assert (response.status_code, response.data["type"]) == (502, "/problems/generation-failed")
    assert ask(client_of(UserFactory()), chat, "Where?").status_code == 404
    assert ask(api, chat, " ").data["errors"][0]["pointer"] == "/query"
