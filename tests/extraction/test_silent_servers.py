"""A user's server that never answers: it takes nothing from users whose servers do, and not all from its owner."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.chats.signals import ChatChanged
from apps.common import jobs
from apps.extraction import tasks
from apps.extraction.jobs.index_jobs import request_index_job
from apps.extraction.models import ExtractionRun, IndexJob
from apps.extraction.runs.operations import request_run
from apps.extraction.runs.settling import on_chat_committed
from apps.extraction.settings.stores import change_settings
from apps.llm.backends.selection import backend_for
from apps.llm.generation import GenerationRequest, TransientFailure
from apps.llm.operations import create_connection, use_for
from apps.memories.models import Passage
from apps.replies.models import Generation
from apps.replies.operations import request_generation
from tests.factories import UserFactory, make_chat, parsed
from tests.llm.scripted_server import ScriptedServer
from tests.llm.silent_server import SilentServer

TURNS = ("Where is the bell?", "On the sand.", "Who put it there?", "The tide did.", "And now?")


@pytest.fixture
def silent() -> Iterator[SilentServer]:
    with SilentServer() as server:
        yield server


def connected(url: str, **fields: Any) -> User:
    """Somebody who has connected a server for generation; with ``embedding_model``, also for vectors."""
    owner: User = UserFactory()
    given = {"base_url": url, "model": "scripted-small", "timeout": 600, "parallel_calls": 16} | fields
    connection = create_connection(owner, name="Theirs", backend="openai", **given)
    use_for(connection, generation=bool(given["model"]), embeddings="embedding_model" in fields)
    change_settings(owner, {"index_messages": "embedding_model" in fields})
    return owner


def ask_everything(chat: Chat) -> tuple[ExtractionRun, Generation]:
    """Have a chat read and answered."""
    run, _ = request_run(chat.owner_id, chat)
    return run, request_generation(chat.owner_id, chat.pk, mode="reply")


def test_an_owner_has_a_share_of_the_places(db: None, silent: SilentServer) -> None:
    hung, good = connected(silent.url), connected(silent.url)
    share = settings.MODEL_PLACES_OF_OWNER
    assert 0 < share < settings.MODEL_PLACES / 2
    for _ in range(share + 2):
        ask_everything(make_chat(hung, *TURNS))
    other, _ = request_run(good, make_chat(good, *TURNS))
    claimed = [jobs.claim_next([ExtractionRun]) for _ in range(share + 3)]
    assert sum(run is not None and run.owner_id == hung.pk for run in claimed) == share
    assert other in claimed
    asked = Generation.objects.for_owner(hung).values_list("pk", flat=True)
    begun = [generation for pk in asked if (generation := jobs.claim(Generation, pk))]
    assert len(begun) == share
    waiting = Generation.objects.for_owner(hung).filter(state="queued").order_by("created_at").first()
    assert jobs.next_of_owner(begun[0]) is None
    jobs.end(begun[0], "failed")
    assert waiting is not None
    assert jobs.next_of_owner(begun[0]) == waiting.pk
    assert jobs.claim(Generation, waiting.pk) is not None


def test_what_waits_for_a_server_is_no_work_of_the_processes_that_compute(db: None, silent: SilentServer) -> None:
    hung, builtin = connected(silent.url, embedding_model="vectors"), UserFactory()
    waiting, computing = (request_run(owner, make_chat(owner, *TURNS))[0] for owner in (hung, builtin))
    for owner in (hung, builtin):
        request_index_job(make_chat(owner, *TURNS))
    queues = {run.owner_id: jobs.queue_of(ExtractionRun, run.pk) for run in (waiting, computing)}
    assert queues == {hung.pk: "models", builtin.pk: "extraction"}
    indexing = {
        owner.pk: jobs.queue_of(IndexJob, IndexJob.objects.for_owner(owner).get().pk) for owner in (hung, builtin)
    }
    assert indexing == {hung.pk: "models", builtin.pk: "indexing"}
    for queue in ("extraction", "indexing"):
        for _ in range(3):
            jobs.run_next(queue)
    waiting.refresh_from_db()
    computing.refresh_from_db()
    assert (waiting.state, computing.state) == ("queued", "succeeded")
    assert IndexJob.objects.for_owner(hung).get().state == "queued"
    assert not silent.calls


def test_a_message_is_stored_without_waiting_for_its_vectors(
    db: None, silent: SilentServer, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    owner = connected(silent.url, model="", embedding_model="vectors")
    sent: list[tuple[str, str]] = []

    def apply_async(*, kwargs: dict[str, str], queue: str) -> None:
        sent.append((kwargs["job_id"], queue))

    monkeypatch.setattr(tasks.index_chat, "apply_async", apply_async)
    chat = make_chat(owner, *TURNS)
    ids = list(chat.messages.values_list("pk", flat=True))
    with django_capture_on_commit_callbacks(execute=True):
        on_chat_committed(ChatChanged(owner.pk, chat.pk, "append", chat.rev, chat.integrity, ids))
    assert sent == [(str(IndexJob.objects.for_owner(owner).get().pk), "models")]
    assert not silent.calls


def test_what_is_written_while_a_chat_is_indexed_is_indexed_too(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as server:
        owner = connected(f"{server.url}/v1", embedding_model="scripted-vectors")
        chat = make_chat(owner, *TURNS)
        request_index_job(chat)
        ended = jobs.end

        def end(job: jobs.Job, *state: Any, **fields: Any) -> bool:
            if not late:
                late.append(append_messages(owner, chat.pk, [parsed("It rings.", is_user=True)]).messages[0])
                request_index_job(chat)  # as the task of the change does, while the job is there
            return ended(job, *state, **fields)

        late: list[Any] = []
        monkeypatch.setattr(jobs, "end", end)
        for _ in range(3):
            jobs.run_next("models")
    assert Passage.objects.for_owner(owner).filter(message=late[0], embedding_model__gt="").exists()


def test_a_silent_server_is_not_asked_again_at_once(db: None, silent: SilentServer) -> None:
    owner = connected(silent.url, timeout=1)
    request = GenerationRequest("tests.greet", [{"role": "user", "content": "Hello"}])
    with pytest.raises(TransientFailure, match="silent for 1 seconds"):
        backend_for(owner).generate(request)
    assert len(silent.calls) == 1


def test_a_run_whose_server_is_silent_is_put_aside_for_longer_each_time(db: None, silent: SilentServer) -> None:
    owner = connected(silent.url, timeout=1)
    run, _ = request_run(owner, make_chat(owner, *TURNS))
    waits = []
    for _ in range(2):
        jobs.run_next("models")
        run.refresh_from_db()
        assert (run.state, run.waits_for) == ("queued", "server")
        assert run.wait_until is not None
        assert run.heartbeat_at is not None
        waits.append(round((run.wait_until - run.heartbeat_at).total_seconds() / 60))
        jobs.resume(run)
    assert waits == [1, 2]
    assert len(silent.calls) == 2
