"""What a real model server does: streams, stops, overflows, is slow, and serves two chats at once.

Run by ``make e2e-model``. LOCI_TEST_MODEL_URL names a running server instead, with LOCI_TEST_MODEL and
LOCI_TEST_MODEL_KEY where it needs them. Nothing is said about the quality of the replies: the model is tiny.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import connection as database

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.jobs import JobQuerySet
from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.runs.operations import request_run
from apps.extraction.settings.stores import change_settings
from apps.llm.backends.connected import ConnectedBackend
from apps.llm.backends.connected_embedder import ConnectedEmbedder
from apps.llm.backends.connection_check import check_connection
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import Completion, GenerationRequest, Refused, TransientFailure
from apps.llm.models import Connection
from apps.llm.operations import create_connection, update_connection, use_for
from apps.llm.usage.limits import usage_today
from tests.factories import UserFactory, make_character, make_chat
from tests.real_model.serving import PYTHON, URL, model_server

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not (URL or PYTHON), reason="a real model is called by make e2e-model only"),
]
CONTEXT = 4096  # tokens of one request, as in llama_server.py
READING_TIME = 1500  # seconds for two chats
STORY = (
    "Mira, it's me. I moved to Lyon last week and took the flat above the bakery.",
    "*Mira grins.* Lyon! And here I am with a broken wrist, still guarding the lighthouse in Port Salt.",
    "You broke your wrist? Promise me that you'll see Doctor Ennis on Monday.",
    "*She nods.* I promise. Bring the silver key when you come. Tobias must not learn about it.",
    "I have it in my coat. I'll be there on Friday.",
    "Friday, then. *She looks at the sea.* I missed you.",
)


class Cancelled(Exception):
    pass


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    if URL:
        yield URL
        return
    with model_server() as url:
        yield url


@pytest.fixture
def owner() -> User:
    return UserFactory()


@pytest.fixture
def connection(owner: User, server_url: str) -> Connection:
    connection = create_connection(
        owner,
        name="Real",
        base_url=server_url,
        api_key=os.environ.get("LOCI_TEST_MODEL_KEY", ""),
        model=os.environ.get("LOCI_TEST_MODEL", "smollm2"),
        context_tokens=CONTEXT,
        timeout=300,
    )
    use_for(connection, generation=True)
    return connection


def request_of(text: str, max_tokens: int = 40) -> GenerationRequest:
    return GenerationRequest("test", [{"role": "user", "content": text}], max_tokens=max_tokens)


def generate(connection: Connection, text: str, max_tokens: int = 40) -> Completion:
    return ConnectedBackend(connection).generate(request_of(text, max_tokens))


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_comes_whole_with_its_tokens(connection: Connection, stream: bool) -> None:
    update_connection(connection, stream=stream, reasoning_effort="low", extra_body={"top_k": 1})
    first, second = (generate(connection, "Name a colour.") for _ in range(2))
    assert first.text
    assert first.prompt_tokens > 5
    assert 0 < first.completion_tokens <= 40
    assert second.text == first.text, "at temperature 0 a reply is the same again"
    assert usage_today(connection.owner_id) == 2 * (first.prompt_tokens + first.completion_tokens)


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_that_reaches_its_limit_is_cut_off(connection: Connection, stream: bool) -> None:
    update_connection(connection, stream=stream)
    completion = generate(connection, "Write a long story about the sea.", max_tokens=8)
    assert (completion.cut_off, completion.filtered, completion.completion_tokens) == (True, False, 8)


@pytest.mark.parametrize("stream", [True, False])
def test_a_prompt_beyond_the_context_is_refused_at_once(connection: Connection, stream: bool) -> None:
    update_connection(connection, stream=stream)
    start = time.monotonic()
    with pytest.raises(Refused, match="context") as caught:
        generate(connection, "word " * 3 * CONTEXT)
    assert caught.value.kind == "refused"
    assert time.monotonic() - start < 20
    assert generate(connection, "Name a colour.").text, "the next request succeeds"


def test_a_slow_prompt_reaches_the_time_limit(connection: Connection) -> None:
    update_connection(connection, timeout=1)
    with pytest.raises(TransientFailure, match="silent for 1 seconds"):
        ConnectedBackend(connection, is_urgent=True).generate(request_of("one two three " * 900))


def test_a_cancelled_call_frees_the_server(connection: Connection) -> None:
    calls: list[float] = []

    def watch() -> None:
        calls.append(time.monotonic())
        if len(calls) == 2:
            raise Cancelled

    start = time.monotonic()
    with pytest.raises(Cancelled):
        ConnectedBackend(connection).generate(request_of("Write a long story about the sea.", 2000), watch)
    assert time.monotonic() - start < 20
    assert generate(connection, "Name a colour.", max_tokens=4).text


def test_a_connection_is_tested_without_embeddings(connection: Connection) -> None:
    check = check_connection(connection)
    assert (check.ok, check.error) == (True, "")
    assert check.models
    assert check.reply


@pytest.mark.skipif(bool(URL), reason="another server may have embeddings")
def test_a_server_without_embeddings_says_so(connection: Connection) -> None:
    update_connection(connection, embedding_model="smollm2")
    with pytest.raises(EmbeddingUnavailable, match="--embeddings"):
        ConnectedEmbedder(connection).embed(["ship"] * 9)


@pytest.mark.parametrize("parallel_calls", [1, 2])
def test_two_requests_at_once_are_both_answered(connection: Connection, parallel_calls: int) -> None:
    update_connection(connection, parallel_calls=parallel_calls)
    replies: list[Completion] = []

    def call() -> None:
        try:
            replies.append(generate(connection, "Write a story about the sea.", 60))
        finally:
            database.close()

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert all(reply.text for reply in replies)
    assert len(replies) == 2


def test_two_chats_are_read_at_once_from_end_to_end(
    owner: User, connection: Connection, start_celery_worker: Callable[[], object]
) -> None:
    # The model rarely ends a reply: each is its first sentence, or what it has written by 100 tokens.
    update_connection(connection, parallel_calls=2, extra_body={"stop": ["\n", "."], "max_tokens": 100})
    change_settings(owner, {"index_messages": False})
    chats = [make_chat(owner, *STORY, character=make_character(owner, name)) for name in ("Mira", "Ada")]
    start_celery_worker()
    for chat in chats:
        request_run(owner, chat)
    deadline = time.monotonic() + READING_TIME
    while runs_of(owner).open().exists():
        assert time.monotonic() < deadline, list(runs_of(owner).values("state", "stage", "error"))
        time.sleep(1)
    calls = ModelCall.objects.for_owner(owner)
    for run in runs_of(owner):
        asked = calls.filter(run=run)
        print(f"\n{run.chat.title} with {run.chat.character}: {run.state} {run.error!r},", end=" ")
        print(f"{asked.count()} calls, {sum(call.prompt_tokens for call in asked)} prompt tokens, {run.counts}")
    assert {run.chat_id for run in runs_of(owner)} == {chat.pk for chat in chats}
    assert calls.exists()
    assert all(call.prompt_tokens for call in calls), "each call reached the model"
    for run in runs_of(owner):
        # A sentence may reach the limit all the same; then the messages count as not read.
        assert run.state == "succeeded" or "cut off" in run.error
    assert first_two_overlap(chats), "the chats were read at the same time"


def runs_of(owner: User) -> JobQuerySet[ExtractionRun]:
    return ExtractionRun.objects.for_owner(owner)


def first_two_overlap(chats: list[Chat]) -> bool:
    """Return whether the first runs of the two chats were under way at the same time."""
    first, second = (chat.runs.order_by("pk")[0] for chat in chats)
    return first.started_at < second.finished_at and second.started_at < first.finished_at
