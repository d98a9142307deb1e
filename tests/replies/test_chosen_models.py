"""A chat names the connection whose model replies in it."""

import re
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse

from apps.chats.models import Chat
from apps.chats.operations import branch_chat
from apps.chats.queries.replying import reply_connection, reply_model
from apps.common.problems import Invalid
from apps.llm.models import Connection
from apps.llm.operations import create_connection, use_for
from apps.llm.queries import generation_connection
from apps.prompts.assembly.prompt import assemble
from apps.prompts.assembly.requests import PromptRequest
from apps.replies.operations import request_generation
from apps.replies.tasks import run_generation
from apps.snapshots.operations import take_chat_snapshot
from tests.conftest import site  # noqa: F401
from tests.factories import UserFactory
from tests.snapshots.making import restored

HTMX = {"HX-Request": "true"}


@pytest.fixture
def url(chat) -> str:
    return reverse("chats:model", args=[chat.pk])


@pytest.fixture
def desk(chat, server) -> Connection:
    """A connection of the chat's owner that is used for nothing."""
    address = f"{server.url}/v1"
    return create_connection(chat.owner, name="Desk", base_url=address, model="slow-and-good", timeout=5)


def choose(chat: Chat, connection: Connection | None) -> None:
    Chat.objects.for_owner(chat.owner).filter(pk=chat.pk).update(connection=connection)
    chat.refresh_from_db()


def model_of_reply(chat: Chat, server: Any) -> str:
    generation = request_generation(chat.owner, chat.pk, mode="impersonate")
    run_generation(generation_id=str(generation.pk))
    return server.of_kind("generation")[-1].body["model"]


def test_the_model_is_chosen_in_the_head_of_the_chat(site, url, chat, desk):  # noqa: F811
    create_connection(UserFactory(), name="Theirs", base_url=desk.base_url, model="their-model")
    page = site.get(reverse("chats:detail", args=[chat.pk])).content.decode()
    assert "slow-and-good" in page
    assert "their-model" not in page
    assert 'class="model-name">No model<' in page
    reply = site.post(url, {"connection": desk.pk}, headers=HTMX)
    assert reply["HX-Trigger"] == "model-chosen"
    assert 'class="model-name">slow-and-good<' in reply.content.decode()
    chat.refresh_from_db()
    assert (chat.connection, generation_connection(chat.owner)) == (desk, None)
    assert 'value="reply"' in site.get(reverse("replies:panel", args=[chat.pk]), headers=HTMX).content.decode()
    assert site.post(url, {"connection": ""}).url == reverse("chats:detail", args=[chat.pk])
    chat.refresh_from_db()
    assert chat.connection is None


def test_without_a_connection_there_is_no_menu(site, chat):  # noqa: F811
    assert "model-menu" not in site.get(reverse("chats:detail", args=[chat.pk])).content.decode()


def test_its_model_replies_and_without_it_that_of_all_chats(chat, connect, server, desk):
    connect()
    assert model_of_reply(chat, server) == "scripted-small"
    choose(chat, desk)
    assert model_of_reply(chat, server) == "slow-and-good"
    desk.delete()
    chat.refresh_from_db()
    assert chat.connection is None
    assert model_of_reply(chat, server) == "scripted-small"


def test_one_that_names_no_model_any_more_is_not_replaced(site, chat, connect, desk):  # noqa: F811
    """What the chat says goes to no server that nobody chose for it."""
    connect()
    choose(chat, desk)
    Connection.objects.for_owner(chat.owner).filter(pk=desk.pk).update(model="")
    chat.refresh_from_db()
    assert reply_connection(chat) is None
    with pytest.raises(Invalid):
        request_generation(chat.owner, chat.pk, mode="reply")
    page = site.get(reverse("chats:detail", args=[chat.pk])).content.decode()
    assert 'class="model-name">No model<' in page


def test_one_that_is_deleted_after_the_chat_was_loaded_is_as_if_none_was_named(chat, connect, desk):
    connect()
    choose(chat, desk)
    loaded = Chat.objects.for_owner(chat.owner).get(pk=chat.pk)
    Connection.objects.for_owner(chat.owner).filter(pk=desk.pk).delete()
    assert reply_connection(loaded) == generation_connection(chat.owner)
    assert reply_model(loaded) == "scripted-small"


def test_another_model_has_nothing_of_a_prompt_in_its_cache(chat, connect, desk):
    connect()
    request = PromptRequest(chat=chat, context_tokens=8000, has_history=True)
    assemble(request)
    again = assemble(replace(request))
    assert again.stable_tokens == again.total_tokens > 0
    choose(chat, desk)
    assert assemble(replace(request, leave_trace=False)).stable_tokens == 0


def test_it_suffices_where_no_model_is_used_for_all_chats(chat, server, desk):
    with pytest.raises(Invalid):
        request_generation(chat.owner, chat.pk, mode="reply")
    choose(chat, desk)
    assert model_of_reply(chat, server) == "slow-and-good"


def test_the_next_prompt_is_that_of_its_model(site, chat, desk):  # noqa: F811
    Connection.objects.for_owner(chat.owner).filter(pk=desk.pk).update(context_tokens=54_321)
    choose(chat, desk)
    page = site.get(reverse("replies:prompt", args=[chat.pk])).content.decode()
    assert re.search(r"54[,.]?321", page)
    assert "slow-and-good" in page


@pytest.mark.parametrize("whose", ["another user's", "nobody's", "without a model"])
def test_what_cannot_reply_is_refused(whose, site, api, url, chat, desk):  # noqa: F811
    other = create_connection(UserFactory(), name="Theirs", base_url=desk.base_url, model="their-model").pk
    if whose == "nobody's":
        other = uuid4()
    if whose == "without a model":
        other = create_connection(chat.owner, name="Vectors", base_url=desk.base_url, embedding_model="v").pk
    assert site.post(url, {"connection": other}).status_code == 404
    reply = api.patch(f"/api/v1/chats/{chat.pk}/", {"connection": str(other)}, format="json")
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/connection")
    chat.refresh_from_db()
    assert chat.connection is None


def test_the_api_shows_and_sets_it_without_a_write_to_the_chat(api, chat, desk):
    address = f"/api/v1/chats/{chat.pk}/"
    before = api.get(address).json()
    assert before["connection"] is None
    after = api.patch(address, {"connection": str(desk.pk)}, format="json").json()
    assert (after["connection"], after["integrity"], after["rev"]) == (
        str(desk.pk),
        before["integrity"],
        before["rev"],
    )
    assert api.patch(address, {"connection": None}, format="json").json()["connection"] is None


def test_a_branch_and_a_restored_chat_keep_it(chat, desk):
    choose(chat, desk)
    assert branch_chat(chat.owner, chat.pk, 1).connection == desk
    snapshot = take_chat_snapshot(chat.owner, chat)
    choose(chat, None)
    restored(snapshot)
    chat.refresh_from_db()
    assert chat.connection == desk


def test_a_restored_chat_forgets_one_that_is_deleted(chat, connect, desk):
    choose(chat, desk)
    snapshot = take_chat_snapshot(chat.owner, chat)
    desk.delete()
    use_for(connect(), generation=True)
    restored(snapshot)
    chat.refresh_from_db()
    assert chat.connection is None
