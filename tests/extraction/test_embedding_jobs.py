"""Embeddings are recomputed after a change of the model: all of them, once, whatever happens in between."""

import datetime as dt
import io
import time
import uuid
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common import jobs
from apps.common.jobs import ClaimLost, progress
from apps.common.scoping import system_scope
from apps.extraction import tasks
from apps.extraction.jobs import embedding_jobs
from apps.extraction.models import EmbeddingJob
from apps.llm.backends import connected_embedder, selection
from apps.llm.backends.connected_embedder import ConnectedEmbedder
from apps.llm.backends.selection import embedder_for
from apps.llm.embeddings import get_embedder
from apps.llm.models import Connection
from apps.llm.operations import create_connection, delete_connection, update_connection, use_for
from apps.memories.models import Arc, Memory, Passage
from apps.memories.operations import edit_memory
from apps.search.indexing import index_messages
from apps.search.service import SearchQuery, search
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.llm.scripted_server import DIMENSIONS, Reply, Request, ScriptedServer, document

LOCAL = "all-MiniLM-L6-v2"
TEXTS = [f"The {animal} sleeps in the {place}." for animal in ("zebra", "owl", "fox") for place in ("barn", "loft")]
BEFORE = "of-before"


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer("NONE") as server:
        yield server


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs that were sent to a worker."""
    found: list[str] = []
    monkeypatch.setattr(tasks.run_reembedding, "delay", lambda *, job_id: found.append(job_id))
    monkeypatch.setattr(tasks.run_reembedding, "apply_async", lambda *, kwargs, queue: found.append(kwargs["job_id"]))
    return found


@pytest.fixture
def connection(owner: User, server: ScriptedServer) -> Connection:
    given = {"base_url": f"{server.url}/v1", "embedding_model": "scripted-vectors", "timeout": 5}
    return create_connection(owner, name="Scripted", **given)


@pytest.fixture
def chat(owner: User) -> Chat:
    """With memories, an arc and passages, all by the model of before."""
    chat = make_chat(owner, *TEXTS, character=make_character(owner))
    index_messages(owner, chat)
    for text in TEXTS[:4]:
        make_memory(chat, text)
    make_memory(chat, TEXTS[4], state="superseded")
    make_memory(chat, TEXTS[5], deleted_at=timezone.now())
    Arc.objects.create(owner_id=owner.pk, chat=chat, text="Where does the zebra sleep?")
    for table in (Memory, Arc):
        table.objects.for_owner(owner).update(embedding_model=BEFORE)
    Passage.objects.for_owner(owner).update(embedding_model=BEFORE, fingerprint=BEFORE)
    return chat


def models_of(owner: User) -> set[str]:
    rows = [table.objects.for_owner(owner) for table in (Memory, Arc, Passage)]
    return {model for found in rows for model in found.values_list("embedding_model", flat=True)}


def started(owner: User) -> EmbeddingJob:
    job, _ = embedding_jobs.start_embedding_job(owner)
    assert job is not None
    return job


def short_vectors(request: Request) -> Reply:
    return document({"data": [{"index": n, "embedding": [1.0, n]} for n, _ in enumerate(request.body["input"])]})


def done(job: EmbeddingJob) -> EmbeddingJob:
    while embedding_jobs.execute(job.pk):
        pass
    job.refresh_from_db()
    return job


def test_everything_is_embedded_by_the_present_model(owner: User, chat: Chat) -> None:
    other = make_memory(make_chat(UserFactory()), "Somebody else's.", embedding_model=BEFORE)
    job = done(started(owner))
    assert (job.state, job.model, job.error) == ("succeeded", LOCAL, "")
    assert job.done == job.total == 6 + 1 + len(TEXTS)
    assert models_of(owner) == {LOCAL}
    memory = Memory.objects.for_owner(owner).filter(text=TEXTS[0]).first()
    assert float(memory.embedding @ get_embedder().embed([TEXTS[0]])[0]) > 0.999
    other.refresh_from_db()
    assert other.embedding_model == BEFORE


def test_there_is_no_job_where_nothing_is_to_do(owner: User, chat: Chat) -> None:
    done(started(owner))
    assert embedding_jobs.start_embedding_job(owner) == (None, False)


def test_another_connection_for_embeddings_starts_a_job(
    owner: User, chat: Chat, connection: Connection, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        use_for(connection, embeddings=True)
    [job] = EmbeddingJob.objects.for_owner(owner)
    assert sent == [str(job.pk)]
    assert job.model == connection.vector_space
    assert (job.model_name, job.state) == ("openai:scripted-vectors", "queued")
    assert done(job).state == "succeeded"
    assert models_of(owner) == {connection.vector_space}
    assert len(Passage.objects.for_owner(owner).first().embedding) == DIMENSIONS
    with django_capture_on_commit_callbacks(execute=True):
        update_connection(connection, embedding_model="others")
    assert EmbeddingJob.objects.for_owner(owner).active().get().model_name == "openai:others"
    with django_capture_on_commit_callbacks(execute=True):
        delete_connection(connection)
    assert done(EmbeddingJob.objects.for_owner(owner).active().get()).state == "succeeded"
    assert models_of(owner) == {LOCAL}


def test_what_concerns_no_vectors_starts_nothing(
    owner: User, chat: Chat, connection: Connection, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    done(started(owner))
    with django_capture_on_commit_callbacks(execute=True):
        update_connection(connection, model="writer", name="Renamed")
        use_for(connection, generation=True)
    assert sent == []
    assert EmbeddingJob.objects.for_owner(owner).count() == 1


def test_a_further_change_replaces_the_job_that_goes_on(owner: User, chat: Chat, connection: Connection) -> None:
    first = started(owner)
    assert started(owner).pk == first.pk
    use_for(connection, embeddings=True)
    second = started(owner)
    first.refresh_from_db()
    assert (first.state, second.model) == ("cancelled", connection.vector_space)
    assert embedding_jobs.execute(first.pk) is False
    assert models_of(owner) == {BEFORE}
    assert done(second).state == "succeeded"


def test_a_job_gives_way_to_others_and_goes_on(owner: User, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_jobs, "BATCH_SIZE", 2)
    job = started(owner)
    turns = 1
    while embedding_jobs.execute(job.pk, max_seconds=0):
        turns += 1
        job.refresh_from_db()
        assert job.state == "queued"
        assert 0 < job.done <= job.total
    job.refresh_from_db()
    assert (job.state, job.done) == ("succeeded", job.total)
    assert turns > 3


def test_vectors_by_the_installations_model_of_before_are_recomputed(
    owner: User,
    chat: Chat,
    connection: Connection,
    sent: list[str],
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    django_capture_on_commit_callbacks: Any,
) -> None:
    """Not by whom a server of their own does it, and not where a person has stopped it."""
    monkeypatch.setattr(tasks.recompute_vectors, "delay", tasks.recompute_vectors)
    served, stopped = UserFactory(), UserFactory()
    for other in (served, stopped):
        make_memory(make_chat(other), "Somebody else's.", embedding_model=LOCAL)
    EmbeddingJob.objects.create(owner=stopped, model="multilingual-e5-small", state="cancelled")
    use_for(create_connection(served, name="S", base_url=connection.base_url, embedding_model="v"), embeddings=True)
    Memory.objects.for_owner(owner).update(embedding_model=LOCAL)
    tasks.sweep_former_vectors()
    assert not EmbeddingJob.objects.for_owner(owner)
    settings.EMBEDDING_MODEL = "multilingual"
    by_e5 = SimpleNamespace(model="multilingual-e5-small", embed=get_embedder().embed)
    monkeypatch.setattr(selection, "installation_embedder", lambda: by_e5)
    with django_capture_on_commit_callbacks(execute=True):
        tasks.sweep_former_vectors()
        tasks.sweep_former_vectors()
    [job] = EmbeddingJob.objects.for_owner(owner)
    assert (sent, job.model) == ([str(job.pk)], "multilingual-e5-small")
    with system_scope():
        assert EmbeddingJob.objects.filter(owner=stopped).count() == 1
        assert not EmbeddingJob.objects.filter(owner=served, model="multilingual-e5-small")
    assert done(job).state == "succeeded"
    assert models_of(owner) == {"multilingual-e5-small"}


def test_a_model_that_is_chosen_again_recomputes_what_nobody_has_stopped(
    owner: User, chat: Chat, monkeypatch: pytest.MonkeyPatch, sent: list[str], settings: Any
) -> None:
    """A job that the change back has ended, or that a person stopped before a later one, is not held against it."""
    monkeypatch.setattr(tasks.recompute_vectors, "delay", tasks.recompute_vectors)
    e5 = SimpleNamespace(model="multilingual-e5-small", embed=get_embedder().embed)
    embedders = {"minilm": get_embedder(), "multilingual": e5}
    monkeypatch.setattr(selection, "installation_embedder", lambda: embedders[settings.EMBEDDING_MODEL])
    done(started(owner))
    settings.EMBEDDING_MODEL = "multilingual"
    tasks.sweep_former_vectors()
    settings.EMBEDDING_MODEL = "minilm"
    assert embedding_jobs.start_embedding_job(owner) == (None, False)  # nothing was recomputed before the change back
    settings.EMBEDDING_MODEL = "multilingual"
    tasks.sweep_former_vectors()
    jobs.cancel(EmbeddingJob.objects.for_owner(owner).active().get())
    tasks.sweep_former_vectors()
    assert not EmbeddingJob.objects.for_owner(owner).active()
    for name, model in (("multilingual", e5.model), ("minilm", LOCAL)):
        settings.EMBEDDING_MODEL = name
        done(started(owner))
        assert models_of(owner) == {model}
    settings.EMBEDDING_MODEL = "multilingual"
    tasks.sweep_former_vectors()
    assert EmbeddingJob.objects.for_owner(owner).active().get().model == e5.model


def test_a_job_of_a_killed_worker_is_taken_up_where_it_was(
    owner: User, chat: Chat, monkeypatch: pytest.MonkeyPatch, sent: list[str]
) -> None:
    monkeypatch.setattr(embedding_jobs, "BATCH_SIZE", 2)
    job = started(owner)
    claimed = jobs.claim(EmbeddingJob, job.pk)
    assert claimed
    next(embedding_jobs.run_batches(claimed))  # and the worker is gone
    kept = set(Memory.objects.for_owner(owner).filter(embedding_model=LOCAL).values_list("pk", flat=True))
    assert len(kept) == 2
    assert embedding_jobs.execute(job.pk) is False  # it seems alive
    EmbeddingJob.objects.for_owner(owner).update(heartbeat_at=timezone.now() - dt.timedelta(hours=1))
    tasks.sweep_jobs()
    assert sent == [str(job.pk)]
    asked: list[str] = []
    embed = get_embedder().embed
    monkeypatch.setattr(get_embedder(), "embed", lambda texts: (asked.extend(texts), embed(texts))[1])
    assert done(job).state == "succeeded"
    assert models_of(owner) == {LOCAL}
    assert len([text for text in asked if text in TEXTS]) <= 4 + len(TEXTS)  # the two first ones not again
    with pytest.raises(ClaimLost):
        list(embedding_jobs.run_batches(claimed))  # the dead one comes back, and finds its claim gone


@pytest.mark.django_db(transaction=True)
def test_a_worker_whose_batch_takes_many_calls_is_not_lost(
    owner: User, chat: Chat, connection: Connection, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "HEARTBEAT_INTERVAL", 0.05)
    use_for(connection, embeddings=True)
    job = started(owner)
    row, past = EmbeddingJob.objects.for_owner(owner), timezone.now() - dt.timedelta(hours=1)

    class SlowEmbedder(ConnectedEmbedder):
        def _embed_batch(self, texts: Sequence[str], is_query: bool) -> Any:
            row.update(heartbeat_at=past)
            deadline = time.monotonic() + 30
            while row.get().heartbeat_at == past:
                assert time.monotonic() < deadline, "no heartbeat"
                time.sleep(0.02)
            return super()._embed_batch(texts, is_query)

    monkeypatch.setattr(connected_embedder, "ConnectedEmbedder", SlowEmbedder)
    assert done(job).state == "succeeded"
    assert models_of(owner) == {connection.vector_space}


def test_a_cancel_stops_between_two_batches(owner: User, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_jobs, "BATCH_SIZE", 2)
    job = started(owner)

    def cancel(rows: int) -> None:
        jobs.cancel(EmbeddingJob.objects.for_owner(owner).get(pk=job.pk))

    assert embedding_jobs.execute(job.pk, on_progress=cancel) is False
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert models_of(owner) == {LOCAL, BEFORE}


@pytest.mark.parametrize("at", ["memories", "passages"])
def test_a_job_waits_for_a_server_that_is_gone_and_fails_where_it_refuses(
    owner: User, chat: Chat, connection: Connection, server: ScriptedServer, at: str
) -> None:
    use_for(connection, embeddings=True)
    if at == "passages":
        with system_scope():
            Memory.objects.update(embedding_model=connection.vector_space)
            Arc.objects.update(embedding_model=connection.vector_space)
    job = started(owner)
    broken = [True]
    server.reply_to(lambda request: request.kind == "embeddings" and broken[0], Reply(status=503))
    assert embedding_jobs.execute(job.pk) is False
    job.refresh_from_db()
    assert (job.state, job.wait_until is None, bool(job.error)) == ("queued", False, True)
    jobs.resume(job)
    server.reply_to(lambda request: request.kind == "embeddings" and broken[0], Reply(status=400))
    assert done(job).state == "failed"
    assert job.error
    broken[0] = False
    assert done(started(owner)).state == "succeeded"
    assert models_of(owner) == {connection.vector_space}


def test_another_server_with_a_model_of_the_same_name_starts_a_job(
    owner: User, chat: Chat, connection: Connection, sent: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    use_for(connection, embeddings=True)
    done(started(owner))
    before = models_of(owner)
    with ScriptedServer("NONE") as other:
        with django_capture_on_commit_callbacks(execute=True):
            update_connection(connection, base_url=f"{other.url}/v1")
        [job] = EmbeddingJob.objects.for_owner(owner).active()
        assert sent == [str(job.pk)]
        assert done(job).state == "succeeded"
        assert other.of_kind("embeddings")
    assert models_of(owner) == {connection.vector_space}
    assert models_of(owner).isdisjoint(before)


def test_vectors_of_another_length_are_never_mixed_with_the_old_ones_and_replace_them(
    owner: User,
    chat: Chat,
    connection: Connection,
    server: ScriptedServer,
    sent: list[str],
    django_capture_on_commit_callbacks: Any,
) -> None:
    use_for(connection, embeddings=True)
    done(started(owner))
    server.reply_to(lambda request: request.kind == "embeddings", short_vectors)
    with django_capture_on_commit_callbacks(execute=True):
        assert search(owner, SearchQuery(TEXTS[0])).method == "text"
    [job] = EmbeddingJob.objects.for_owner(owner).active()
    assert sent == [str(job.pk)]
    assert search(owner, SearchQuery(TEXTS[0])).results, "the old vectors are not compared with the new ones"
    assert done(job).state == "succeeded"
    assert models_of(owner) == {job.model}
    assert {len(memory.embedding) for memory in Memory.objects.for_owner(owner)} == {2}
    assert search(owner, SearchQuery(TEXTS[0])).method == "hybrid"


def test_a_job_whose_server_changes_the_length_of_its_vectors_is_replaced(
    owner: User,
    chat: Chat,
    connection: Connection,
    server: ScriptedServer,
    sent: list[str],
    django_capture_on_commit_callbacks: Any,
) -> None:
    use_for(connection, embeddings=True)
    embedder_for(owner).embed(["ready"])
    job = started(owner)
    server.reply_to(lambda request: request.kind == "embeddings", short_vectors)
    with django_capture_on_commit_callbacks(execute=True):
        assert done(job).state in ("cancelled", "failed")
    [next_job] = EmbeddingJob.objects.for_owner(owner).active()
    assert done(next_job).state == "succeeded"
    assert models_of(owner) == {next_job.model}


def test_a_text_that_is_edited_meanwhile_keeps_what_the_edit_gave_it(owner: User, chat: Chat) -> None:
    memory = Memory.objects.for_owner(owner).filter(text=TEXTS[0]).first()
    embedder = embedder_for(owner)

    class Slow:
        model, dimensions = embedder.model, embedder.dimensions

        def embed(self, texts: list[str]) -> Any:
            vectors = embedder.embed(texts)
            edit_memory(memory, editor="me", text="The ship sinks.")
            return vectors

    embedding_jobs.embed_texts(Memory, owner, [(memory.pk, memory.text)], Slow())
    memory.refresh_from_db()
    assert float(memory.embedding @ embedder.embed(["The ship sinks."])[0]) > 0.999


def test_what_waits_is_found_by_its_words(owner: User, chat: Chat, connection: Connection) -> None:
    use_for(connection, embeddings=True)
    started(owner)
    reply = search(owner, SearchQuery("zebra barn", chat=chat.pk, tiers=("messages",)))
    assert reply.results[0].message.index == 0


def test_the_command_does_it_here_and_now(owner: User, chat: Chat) -> None:
    other = UserFactory()
    make_memory(make_chat(other), "Somebody else's.", embedding_model=BEFORE)
    out = io.StringIO()
    call_command("reembed", user=owner.email.upper(), stdout=out, stderr=io.StringIO())
    assert f"{owner.email}: 13 of 13 by {LOCAL}, succeeded." in out.getvalue()
    assert models_of(owner) == {LOCAL}
    assert models_of(other) == {BEFORE}
    call_command("reembed", stdout=out, stderr=io.StringIO())
    assert f"{owner.email}: nothing to do." in out.getvalue()
    assert models_of(other) == {LOCAL}


def test_the_command_tells_what_it_could_not_do(
    owner: User, chat: Chat, connection: Connection, server: ScriptedServer
) -> None:
    use_for(connection, embeddings=True)
    server.reply_to(lambda request: True, Reply(status=401))
    with pytest.raises(CommandError, match=owner.email):
        call_command("reembed", stdout=io.StringIO(), stderr=io.StringIO())
    with pytest.raises(CommandError, match="no user"):
        call_command("reembed", user="nobody@example.com")


def test_somebody_elses_claim_is_respected(owner: User, chat: Chat) -> None:
    job = started(owner)
    now = timezone.now()
    EmbeddingJob.objects.for_owner(owner).update(state="running", claim=uuid.uuid4(), heartbeat_at=now)
    assert embedding_jobs.execute(job.pk) is False
    assert models_of(owner) == {BEFORE}
