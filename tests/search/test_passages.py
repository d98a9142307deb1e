import datetime as dt
import uuid

import numpy as np
import pytest
from django.db import connection

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.message_data.namespaces import leave_out_change
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Chat, ChatChange
from apps.chats.operations import Patch, append_messages, create_chat, delete_chat, patch_messages, purge_chat
from apps.chats.signals import ChatChanged
from apps.common import jobs
from apps.extraction import tasks
from apps.extraction.jobs import index_jobs
from apps.extraction.models import IndexJob
from apps.extraction.runs.settling import invalidate_if_exists, on_chat_committed
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.memories.models import Passage
from apps.search import indexing as passages
from apps.search.indexing import has_stale_passages, index_messages, is_question

START = dt.datetime(2026, 5, 8, 12, tzinfo=dt.UTC)


def said(text, name="Mira", *, minutes=0, is_user=False, is_system=False, extra=None):
    at = START + dt.timedelta(minutes=minutes)
    return ParsedMessage(name, is_user, is_system, at.isoformat(), at, 0, (ParsedSwipe(text, extra or {}),), "")


@pytest.fixture
def owner(db):
    return User.objects.create_user("alice@example.com")


@pytest.fixture
def chat(owner):
    chat = create_chat(owner, title="The heist")
    talk = ["Where is the key?", "Under the blue stone.", "Then let us go.", "Wait for the tide."]
    append_messages(owner, chat.pk, [said(text, minutes=n) for n, text in enumerate(talk)])
    chat.refresh_from_db()
    return chat


def edit(owner, chat, index, **values):
    patch_messages(owner, chat.pk, [Patch(values, index=index)], Guard(optional=True))


def rows(owner):
    return list(Passage.objects.for_owner(owner).select_related("message").order_by("message__index"))


def vector(values):
    return np.array(values, dtype=np.float32)


def test_every_message_becomes_a_passage(owner, chat):
    assert index_messages(owner, chat) == 4
    first, second, *_ = rows(owner)
    assert (first.speaker, first.is_question, first.length, first.session) == ("Mira", True, 4, 0)
    assert first.embedding_model == get_embedder().model
    (own,) = get_embedder().embed(["Under the blue stone."])
    assert vector(second.embedding) @ own == pytest.approx(1, abs=1e-3)
    assert np.linalg.norm(vector(second.window_embedding)) == pytest.approx(1, abs=1e-2)


def test_lexemes_hold_date_speaker_and_text_and_the_windows_those_of_the_neighbours(owner, chat):
    index_messages(owner, chat)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tsvector_to_array(lexemes), tsvector_to_array(window_lexemes) FROM memories_passage p"
            " JOIN chats_message m ON m.id = p.message_id WHERE m.index = 1"
        )
        own, window = map(set, cursor.fetchone())
    day = {"@05", "@05-08", "@2026-05-08"}
    assert own == {"8", "may", "2026", "mira", "blue", "stone"} | day
    assert window == own - {"@05"} | {"key", "let", "us", "go"}  # a date that is written names its day and its year


def test_indexing_again_writes_nothing(owner, chat):
    index_messages(owner, chat)
    before = rows(owner)
    assert index_messages(owner, chat) == 0
    assert rows(owner) == before


def test_a_changed_message_is_indexed_again_with_its_neighbours_only(owner, chat):
    index_messages(owner, chat)
    before = {row.message.index: vector(row.window_embedding) for row in rows(owner)}
    edit(owner, chat, 0, mes="The violin was sold in winter.")
    assert index_messages(owner, chat) == 2
    after = {row.message.index: vector(row.window_embedding) for row in rows(owner)}
    changed = [index for index in before if not np.array_equal(before[index], after[index])]
    assert changed == [0, 1]


def test_an_append_touches_the_last_message_before_it(owner, chat):
    index_messages(owner, chat)
    append_messages(owner, chat.pk, [said("And then?", minutes=5)])
    assert index_messages(owner, chat) == 2


def test_hidden_messages_are_indexed_like_others(owner, chat):
    edit(owner, chat, 1, is_system=True)
    index_messages(owner, chat)
    assert [row.message.index for row in rows(owner)] == [0, 1, 2, 3]


def test_a_message_that_is_left_out_of_memory_is_found_no_more_until_it_is_taken_back(owner, chat):
    index_messages(owner, chat)
    for out, indexes in ((True, [0, 2, 3]), (False, [0, 1, 2, 3])):
        patch_messages(owner, chat.pk, [Patch(index=1, data=leave_out_change(out))], Guard(optional=True))
        invalidate_if_exists(chat)
        assert has_stale_passages(owner, chat) is not out
        index_messages(owner, chat)
        assert [row.message.index for row in rows(owner)] == indexes
        with connection.cursor() as cursor:
            cursor.execute("SELECT string_agg(window_lexemes::text, ' ') FROM memories_passage")
            assert ("stone" in cursor.fetchone()[0]) is not out


def test_a_deleted_chat_takes_its_passages_along(owner, chat):
    index_messages(owner, chat)
    purge_chat(owner, chat.pk)
    assert rows(owner) == []


class Interrupted:
    """The embedder, with something that happens while it is at work."""

    def __init__(self, meanwhile):
        self.meanwhile, self.model = meanwhile, get_embedder().model

    def embed(self, texts):
        self.meanwhile()
        return get_embedder().embed(texts)


def test_what_changes_while_it_is_indexed_is_left_to_the_next_call(owner, chat, monkeypatch):
    with monkeypatch.context() as patched:
        embedder = Interrupted(lambda: edit(owner, chat, 0, mes="The violin was sold in winter."))
        patched.setattr(passages, "embedder_for", lambda owner: embedder)
        assert index_messages(owner, chat) == 2
    assert [row.message.index for row in rows(owner)] == [2, 3]
    assert index_messages(owner, chat) == 2


def test_a_chat_that_is_deleted_while_it_is_indexed_is_left_alone(owner, chat, monkeypatch):
    same = Chat.objects.for_owner(owner).get(pk=chat.pk)
    embedder = Interrupted(lambda: delete_chat(same))
    monkeypatch.setattr(passages, "embedder_for", lambda owner: embedder)
    assert index_messages(owner, chat) == 0
    assert rows(owner) == []


def test_a_silence_of_hours_or_another_session_key_starts_a_new_sitting(owner):
    chat = create_chat(owner, title="Sittings")
    messages = [
        said("one", minutes=0),
        said("two", minutes=5),
        said("three", minutes=600),
        said("four", minutes=601, extra={"session": "x"}),
        said("five", minutes=602, extra={"session": "x"}),
    ]
    append_messages(owner, chat.pk, messages)
    index_messages(owner, chat)
    assert [row.session for row in rows(owner)] == [0, 0, 1, 2, 2]


def test_without_a_model_words_are_indexed_and_vectors_follow_later(owner, chat, monkeypatch):
    def unavailable(owner):
        raise EmbeddingUnavailable("no model")

    with monkeypatch.context() as patched:
        patched.setattr(passages, "embedder_for", unavailable)
        assert index_messages(owner, chat) == 4
        assert {row.embedding for row in rows(owner)} == {None}
        assert index_messages(owner, chat) == 0
    assert index_messages(owner, chat) == 4
    assert all(row.embedding for row in rows(owner))


def test_batches_go_on_where_the_last_ones_stopped(owner, chat, monkeypatch):
    monkeypatch.setattr(passages, "WRITE_BATCH_SIZE", 1)
    monkeypatch.setattr(passages, "COMPARE_BATCH_SIZE", 2)
    assert next(passages.index_batches(owner, chat)) == 1
    assert [row.message.index for row in rows(owner)] == [0]
    assert list(passages.index_batches(owner, chat)) == [1, 1, 1]
    assert index_messages(owner, chat) == 0


def changed(chat, messages=()):
    """Tell the receivers of a change of the chat, as a worker does."""
    ids = [message.pk for message in messages]
    event = ChatChanged(chat.owner_id, chat.pk, ChatChange.Kind.APPEND, chat.rev, chat.integrity, ids)
    on_chat_committed(event)


@pytest.fixture
def queued(monkeypatch):
    """The ids of the index jobs that were enqueued."""
    sent = []
    monkeypatch.setattr(tasks.index_chat, "delay", lambda *, job_id: sent.append(job_id))
    return sent


def test_an_imported_chat_is_indexed_in_time_slices(
    owner, chat, monkeypatch, queued, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(passages, "WRITE_BATCH_SIZE", 1)
    with django_capture_on_commit_callbacks(execute=True):
        changed(chat)
    changed(chat)  # the same job serves it
    [job_id] = queued
    for count in range(1, 5):
        job = jobs.claim(IndexJob, job_id)
        assert index_jobs.execute_claimed(job, max_seconds=0)
        assert len(rows(owner)) == count
    assert not index_jobs.execute_claimed(jobs.claim(IndexJob, job_id), max_seconds=0)
    assert [row.message.index for row in rows(owner)] == [0, 1, 2, 3]
    job.refresh_from_db()
    assert (job.state, job.done) == ("succeeded", 4)


def test_a_new_message_is_indexed_at_once_although_its_chat_waits(
    owner, chat, queued, django_capture_on_commit_callbacks
):
    [message] = append_messages(owner, chat.pk, [said("The bell lies on the sand.")]).messages
    with django_capture_on_commit_callbacks(execute=True):
        changed(chat, [message])
    assert {row.message.index for row in rows(owner)} == {message.index - 1, message.index}
    assert len(queued) == 1  # for the others


def test_many_new_messages_leave_the_older_of_them_to_a_job(
    owner, chat, queued, monkeypatch, django_capture_on_commit_callbacks
):
    index_messages(owner, chat)
    monkeypatch.setattr(passages, "MAX_URGENT", 2)
    new = append_messages(owner, chat.pk, [said(f"Bell number {n}.") for n in range(3)]).messages
    with django_capture_on_commit_callbacks(execute=True):
        changed(chat, new)
    assert {message.index for message in new[1:]} <= {row.message.index for row in rows(owner)}
    assert len(queued) == 1


def test_another_owner_indexes_nothing_of_it(owner, chat):
    stranger = User.objects.create_user("charlie@example.com")
    assert index_messages(stranger, chat) == 0
    assert rows(owner) == []


def test_a_very_long_message_is_indexed(owner):
    chat = create_chat(owner, title="Long")
    append_messages(owner, chat.pk, [said("".join(f"{uuid.uuid4().hex} " for _ in range(20_000)))])
    assert index_messages(owner, chat) == 1


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Where?", True), ('"Where is it?" ', True), ("*looks up* Really?*", True), ("Why? Because.", False), ("", False)],
)
def test_what_counts_as_a_question(text, asks):
    assert is_question(text) is asks
