"""A job has one message on its way to a worker, however often it is asked for and however long it waits."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone

from apps.chats.models import Chat
from apps.common import jobs
from apps.exchange.tasks import request_decided_import, request_import, sweep_import_jobs
from apps.extraction import tasks as extraction
from apps.extraction.jobs.embedding_jobs import request_embedding_job
from apps.extraction.jobs.index_jobs import request_index_job
from apps.extraction.models import ExtractionRun
from apps.extraction.runs.operations import request_run, resume_run
from apps.extraction.suitability.model_tests import request_model_test
from apps.llm.operations import create_connection, use_for
from apps.moderation.models import Rule
from apps.moderation.tasks import request_scans, sweep_scans
from apps.replies.tasks import sweep_generations
from apps.snapshots.tasks import request_snapshot, sweep_snapshots
from tests.factories import UserFactory, make_chat, make_memory

pytestmark = pytest.mark.django_db(transaction=True)
MINUTES = 10  # of waiting
JSONL = b'{"user_name":"Alice"}\n{"name":"Mira","mes":"Two."}'


@pytest.fixture
def chat() -> Chat:
    return make_chat(UserFactory(), "The key is lost.", "Oh.")


def messages(*queues: str) -> int:
    """How many messages are in the queues, or in all but those of changes and sweeps."""
    counted = [f"SELECT 1 FROM pgmq.q_{queue}" for queue in queues or ("extraction", "indexing", "models", "replies")]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({' UNION ALL '.join(counted)}) AS all_messages")
        return int(cursor.fetchone()[0])


def sweep() -> None:
    for task in (extraction.sweep_jobs, extraction.sweep_runs, sweep_import_jobs, sweep_snapshots, sweep_scans):
        task()
    sweep_generations()


def ask_for_import(chat: Chat) -> None:
    request_import(chat.owner, SimpleUploadedFile("chat.jsonl", JSONL))


def ask_for_snapshot(chat: Chat) -> None:
    request_snapshot(chat.owner)


def ask_for_index(chat: Chat) -> None:
    request_index_job(chat)


def ask_for_embeddings(chat: Chat) -> None:
    make_memory(chat, "The key is lost.")
    request_embedding_job(chat.owner)


def ask_for_scan(chat: Chat) -> None:
    Rule.objects.get_or_create(name="Keys", defaults={"text": "key"})
    request_scans(chat.owner, "chat", chat.pk, [])


def ask_for_run(chat: Chat) -> None:
    run, _ = request_run(chat.owner, chat, asked=True)
    resume_run(run, asked=True)


def ask_for_test(chat: Chat) -> None:
    request_model_test(chat.owner, None)


ASKED_ONCE = [ask_for_import]
ASKED_AGAIN = [ask_for_snapshot, ask_for_index, ask_for_embeddings, ask_for_scan, ask_for_run]


@pytest.mark.parametrize("ask", ASKED_AGAIN)
def test_a_job_that_is_asked_for_again_is_sent_once(chat: Chat, ask: Callable[[Chat], None]) -> None:
    for _ in range(3):
        ask(chat)
    assert messages() == 1


@pytest.mark.parametrize("ask", [*ASKED_ONCE, *ASKED_AGAIN, ask_for_test])
def test_a_job_that_waits_long_is_sent_once(chat: Chat, ask: Callable[[Chat], None]) -> None:
    now = timezone.now()
    ask(chat)
    for minute in range(MINUTES):
        with time_machine.travel(now + dt.timedelta(minutes=minute)):
            sweep()
    assert messages() == 1


@pytest.mark.parametrize("ask", [*ASKED_ONCE, *ASKED_AGAIN, ask_for_test])
def test_a_job_whose_message_was_lost_is_sent_again_once(chat: Chat, ask: Callable[[Chat], None]) -> None:
    now = timezone.now()
    ask(chat)
    with connection.cursor() as cursor:
        for queue in ("extraction", "indexing", "models"):
            cursor.execute(f"DELETE FROM pgmq.q_{queue}")
    for minute in range(2, MINUTES):
        with time_machine.travel(now + dt.timedelta(minutes=minute)):
            sweep()
    assert messages() == 1


def test_many_jobs_of_many_users_have_a_message_each() -> None:
    chats = [make_chat(UserFactory(), "The key is lost.") for _ in range(3)]
    now = timezone.now()
    for chat in chats:
        for ask in (ask_for_import, ask_for_snapshot, ask_for_index):
            ask(chat)
    for minute in range(MINUTES):
        with time_machine.travel(now + dt.timedelta(minutes=minute)):
            sweep()
    assert messages("indexing") == 9


# Of who has connected a server


@pytest.fixture
def connected_chat(chat: Chat) -> Chat:
    connect_server(chat)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pgmq.q_indexing")  # of what the connection has started
    return chat


def connect_server(chat: Chat) -> None:
    given: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", "model": "small", "embedding_model": "vectors"}
    server = create_connection(chat.owner, name="Theirs", backend="openai", parallel_calls=1, **given)
    use_for(server, generation=True, embeddings=True)


@pytest.mark.parametrize("ask", [ask_for_index, ask_for_embeddings, ask_for_run])
def test_what_waits_for_a_server_has_one_message_in_its_own_queue(
    connected_chat: Chat, ask: Callable[[Chat], None]
) -> None:
    now = timezone.now()
    for _ in range(2):
        ask(connected_chat)
    assert (messages(), messages("models")) == (1, 1)
    for minute in range(2, MINUTES):
        with time_machine.travel(now + dt.timedelta(minutes=minute)):
            sweep()
    assert (messages(), messages("models")) == (1, 1)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pgmq.q_models")
    for minute in range(MINUTES, 2 * MINUTES):
        with time_machine.travel(now + dt.timedelta(minutes=minute)):
            sweep()
    assert (messages(), messages("models")) == (1, 1)


def test_a_lost_message_is_found_while_others_wait_in_the_queue_that_has_the_rest(connected_chat: Chat) -> None:
    now = timezone.now()
    ask_for_run(connected_chat)
    ask_for_run(make_chat(UserFactory(), "The key is lost.", "Oh."))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pgmq.q_models")
    with time_machine.travel(now + dt.timedelta(minutes=2)):
        sweep()
    assert (messages("extraction"), messages("models")) == (1, 1)


def test_a_queued_run_that_gets_more_to_do_is_not_sent_again(chat: Chat) -> None:
    request_run(chat.owner, chat, tiers=["session"], automatic=True)
    run, created = request_run(chat.owner, chat, asked=True, tiers=["canon"])
    assert (created, run.extended, run.asked, run.tiers) == (False, True, True, ["session", "canon"])
    assert messages() == 1


def test_a_queued_run_follows_its_owner_into_the_queue_of_servers(chat: Chat) -> None:
    ask_for_run(chat)
    assert (messages("extraction"), messages("models")) == (1, 0)
    connect_server(chat)
    run = ExtractionRun.objects.for_owner(chat.owner).get()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pgmq.q_models WHERE message::text LIKE %s", [f"%{run.pk}%"])
        assert cursor.fetchone() == (1,)


def test_a_run_whose_wait_is_ended_is_sent_once_more(chat: Chat) -> None:
    run, _ = request_run(chat.owner, chat)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pgmq.q_extraction")  # a worker has received it
    claimed: Any = jobs.claim(ExtractionRun, run.pk)
    jobs.postpone(claimed, "The server does not answer.", timezone.now() + dt.timedelta(hours=1))
    for _ in range(2):
        resume_run(ExtractionRun.objects.for_owner(chat.owner).get(pk=run.pk))
    assert messages("extraction") == 1


def test_a_decision_on_an_import_sends_it_once(chat: Chat) -> None:
    job = request_import(chat.owner, SimpleUploadedFile("chat.jsonl", JSONL))
    jobs.pause(job)
    before = messages("indexing")
    for _ in range(2):
        request_decided_import(job, "copy")
    assert messages("indexing") == before + 1
