"""Between two chats of a character the messages' times tell what is newer; where they don't, the person is asked."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Chat
from apps.memories.models import Memory, Question, Relationship
from apps.memories.operations.questions import settle
from tests.extraction.engine import storyteller
from tests.extraction.engine.story import append, edit, read, tell
from tests.extraction.engine.story import settle as work_off
from tests.factories import make_chat
from tests.lanes import sampled
from tests.llm.scripted_server import Reply, ScriptedServer

LONG_TERM = {"tiers": ["long_term"]}
QUESTIONS = "/api/v1/memories/questions/"
ROME, OSLO = "Mira lives in Rome now.", "Mira lives in Oslo now."
OLD, NEW = "2021-05-01T10:00:00Z", "2024-05-01T10:00:00Z"


def told(owner: User, text: str, date: str | None, chat: Chat | None = None) -> Chat:
    """A read chat of the same character in which the text is said at the date, or at an unknown time."""
    other = make_chat(owner, character=chat.character, title="Imported") if chat else tell(owner, title="First")
    append(other, f"FACT(2): {text}", "Good.", is_user=True, send_date=date or "long ago")
    read(other, **LONG_TERM)
    return other


def memory(owner: User, text: str) -> Memory:
    return Memory.objects.for_owner(owner).select_related("valid_to").get(text=text)


@pytest.fixture(params=["by vectors", "by words"])
def measured(request: pytest.FixtureRequest, server: ScriptedServer) -> None:
    if request.param == "by words":
        server.reply_to(lambda request: request.kind == "embeddings", Reply(status=500))


@pytest.fixture
def api(owner: User) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(owner, name='test')[1]}")
    return client


@pytest.fixture
def question(owner: User) -> Question:
    told(owner, OSLO, None, told(owner, ROME, NEW))
    return Question.objects.for_owner(owner).get()


def test_an_older_chat_imported_later_does_not_overrule_newer_facts(owner: User, measured: None) -> None:
    told(owner, OSLO, OLD, told(owner, ROME, NEW))
    oslo, rome = memory(owner, OSLO), memory(owner, ROME)
    assert (rome.state, oslo.state, oslo.superseded_by) == ("active", "superseded", rome)
    assert not Question.objects.for_owner(owner).exists()


def test_a_newer_chat_overrules_an_older_one(owner: User, server: ScriptedServer, measured: None) -> None:
    told(owner, OSLO, NEW, told(owner, ROME, OLD))
    assert memory(owner, ROME).superseded_by == memory(owner, OSLO)
    [asked] = [one for one in server.requests if storyteller.task_of(one) == "pairs"]
    assert storyteller.value_of(asked, "pairs") == f"1. older: {ROME}\n   newer: {OSLO}"


def test_a_fact_said_again_is_as_new_as_its_last_confirmation(owner: User) -> None:
    chat = told(owner, ROME, "2020-05-01T10:00:00Z")
    told(owner, ROME, NEW, chat)
    told(owner, OSLO, OLD, chat)
    assert memory(owner, ROME).state == "active"


@pytest.mark.parametrize(("first", "second"), sampled([(None, NEW), (NEW, None), (None, None), (NEW, NEW)], 2))
def test_where_times_do_not_decide_nothing_is_superseded_and_the_person_is_asked(
    owner: User, measured: None, first: str | None, second: str | None
) -> None:
    chat = told(owner, OSLO, second, told(owner, ROME, first))
    assert memory(owner, ROME).state == "active"
    assert memory(owner, OSLO).state == "active"
    question = Question.objects.for_owner(owner).get()
    assert (question.first.text, question.second.text, question.chat, question.answer) == (ROME, OSLO, chat, "")
    read(chat, from_index=0, **LONG_TERM)
    assert Question.objects.for_owner(owner).count() == 1


def test_within_a_chat_positions_decide_whatever_the_times_say(owner: User) -> None:
    chat = told(owner, ROME, NEW)
    append(chat, f"FACT(2): {OSLO}", "Good.", is_user=True, send_date=OLD)
    read(chat, **LONG_TERM)
    assert memory(owner, ROME).superseded_by == memory(owner, OSLO)


def test_an_older_chat_does_not_change_how_people_relate_now(owner: User) -> None:
    chat = tell(owner)
    append(chat, "FEELS: Mira -> Alice: warm(high)\nFACT(2): Mira is well.", "Good.", is_user=True, send_date=NEW)
    read(chat, **LONG_TERM)
    for date, title in ((OLD, "Older"), ("long ago", "Undated")):
        other = make_chat(owner, character=chat.character, title=title)
        append(
            other, f"FEELS: Mira -> Alice: warm(low), !warm\nFACT(2): {title}.", "Good.", is_user=True, send_date=date
        )
        read(other, **LONG_TERM)
        row = Relationship.objects.for_owner(owner).get(chat=chat)
        assert (row.magnitude, row.state) == ("high", "current"), title


@pytest.mark.parametrize(
    ("answer", "rome", "oslo"),
    [("first", "active", "superseded"), ("second", "superseded", "active"), ("both", "active", "active")],
)
def test_an_answer_is_applied_and_can_be_taken_back(
    api: APIClient, owner: User, question: Question, answer: str, rome: str, oslo: str
) -> None:
    [listed] = api.get(QUESTIONS, {"state": "open"}).json()["results"]
    assert (listed["first"]["text"], listed["second"]["text"], listed["chat"]) == (ROME, OSLO, str(question.chat_id))
    settled = api.post(f"{QUESTIONS}{question.pk}/settle/", {"answer": answer})
    assert (settled.status_code, settled.json()["answer"]) == (200, answer)
    assert (memory(owner, ROME).state, memory(owner, OSLO).state) == (rome, oslo)
    assert api.get(QUESTIONS, {"state": "open"}).json()["results"] == []
    assert api.post(f"{QUESTIONS}{question.pk}/settle/", {"answer": answer}).status_code == 409
    assert len(api.get(QUESTIONS, {"state": "answered", "chat": str(question.chat_id)}).json()["results"]) == 1
    assert api.post(f"{QUESTIONS}{question.pk}/reopen/").json()["answer"] == ""
    for text in (ROME, OSLO):
        row = memory(owner, text)
        assert (row.state, row.superseded_by, row.valid_to) == ("active", None, None)


def test_a_question_about_a_memory_that_is_gone_is_not_asked(api: APIClient, owner: User, question: Question) -> None:
    Memory.objects.for_owner(owner).filter(text=ROME).update(state="retired")
    assert api.get(QUESTIONS, {"state": "open"}).json()["results"] == []
    assert api.post(f"{QUESTIONS}{question.pk}/settle/", {"answer": "first"}).status_code == 409


def test_questions_of_others_do_not_exist(api: APIClient, question: Question, db: Any) -> None:
    stranger = APIClient()
    other = User.objects.create_user("stranger@example.com", "password")
    stranger.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(other, name='test')[1]}")
    assert stranger.get(QUESTIONS).json()["results"] == []
    assert stranger.post(f"{QUESTIONS}{question.pk}/settle/", {"answer": "both"}).status_code == 404
    assert api.post(f"{QUESTIONS}{question.pk}/settle/", {"answer": "neither"}).status_code == 400


def test_the_page_asks_which_is_true_now(owner: User, question: Question) -> None:
    site = Client()
    site.force_login(owner)
    for book in (
        f"/memories/chats/{question.chat_id}/book/",
        f"/memories/characters/{question.chat.character_id}/book/",
    ):
        html = site.get(f"{book}questions/").content.decode()
        assert ROME in html
        assert OSLO in html
        assert "Only the first" in html
    url = f"/memories/chats/{question.chat_id}/book/questions/"
    reply = site.post(f"/memories/questions/{question.pk}/second/", {"next": url}, follow=True)
    html = reply.content.decode()
    assert "Nothing to decide" in html
    assert f"“{OSLO}”, no longer “{ROME}”" in html
    assert memory(owner, ROME).state == "superseded"
    site.post(f"/memories/questions/{question.pk}/reopen/")
    assert memory(owner, ROME).state == "active"
    settle(question, "both", editor="alice")
    assert "no longer active" in site.post(f"/memories/questions/{question.pk}/first/", follow=True).content.decode()


def test_messages_that_lost_their_text_settle_the_question(owner: User, question: Question, api: APIClient) -> None:
    edit(question.chat, 0, "Nothing of the kind.")
    work_off(question.chat)
    assert api.get(QUESTIONS, {"state": "open"}).json()["results"] == []
