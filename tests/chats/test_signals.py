"""Receivers of writes to chats: inside the transaction, and after the commit."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.dispatch import Signal

from apps.chats import locking
from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.chats.signals import ChatChanged, chat_changed, chat_committed
from apps.chats.tasks import dispatch_chat_committed
from apps.exchange.chats.imports import import_chats
from tests.factories import UserFactory, make_chat, parsed

pytestmark = pytest.mark.django_db


@contextmanager
def connected(signal: Signal, *receivers: Any) -> Iterator[None]:
    """Connect receivers for the duration of a block."""
    for receiver in receivers:
        signal.connect(receiver, weak=False)
    try:
        yield
    finally:
        for receiver in receivers:
            signal.disconnect(receiver)


def fail(event: ChatChanged, **kwargs: Any) -> None:
    raise ValueError("broken receiver")


def test_an_exception_in_the_background_does_not_stop_other_receivers(caplog):
    events = []
    with connected(chat_committed, fail, lambda event, **kwargs: events.append(event)), caplog.at_level(logging.ERROR):
        dispatch_chat_committed(owner_id=uuid4(), chat_id=uuid4(), kind="create", rev=1, integrity=uuid4())
    assert [event.kind for event in events] == ["create"]
    assert "broken receiver" in caplog.text


def test_an_exception_inside_the_transaction_undoes_the_write():
    chat = make_chat(UserFactory(), "One.")
    with connected(chat_changed, fail), pytest.raises(ValueError, match="broken receiver"):
        append_messages(chat.owner, chat.pk, [parsed("Two.")])
    assert Chat.objects.for_owner(chat.owner).get().rev == chat.rev
    assert chat.messages.count() == 1


def test_a_write_and_its_task_are_stored_together_or_not_at_all():
    def enqueued():
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pgmq.q_interactive WHERE message::text LIKE %s", [f"%{chat.pk}%"])
            return cursor.fetchone()[0]

    chat = make_chat(UserFactory(), "One.")
    before = enqueued()
    with suppress(ZeroDivisionError), transaction.atomic():
        append_messages(chat.owner, chat.pk, [parsed("Two.")])
        assert 1 / 0
    assert enqueued() == before
    append_messages(chat.owner, chat.pk, [parsed("Two.")])
    assert enqueued() == before + 1


def test_the_events_of_imported_chats_do_not_precede_those_of_messages(monkeypatch, django_capture_on_commit_callbacks):
    sent = []

    def send_task(name, *args, **options):
        if name == dispatch_chat_committed.name:
            sent.append(options.get("queue"))

    monkeypatch.setattr(locking.current_app, "send_task", send_task)
    with django_capture_on_commit_callbacks(execute=True):
        owner = UserFactory()
        make_chat(owner, "One.")
        import_chats(owner, io.BytesIO(b'{"user_name":"Alice"}\n{"name":"Mira","mes":"Two."}'), filename="chat.jsonl")
    assert set(sent[:-1]) == {None}  # as the settings route it
    assert sent[-1] == "scheduled"


def test_the_task_gets_the_event_as_it_was_sent(monkeypatch, django_capture_on_commit_callbacks):
    sent = []
    events = []
    chat = make_chat(UserFactory(), "One.")
    monkeypatch.setattr(locking.current_app, "send_task", lambda name, kwargs: sent.append((name, kwargs)))
    with (
        connected(chat_changed, lambda event, **kwargs: events.append(event)),
        django_capture_on_commit_callbacks(execute=True),
    ):
        append_messages(chat.owner, chat.pk, [parsed("Two.")])
    [(name, arguments)] = sent
    assert name == dispatch_chat_committed.name
    assert ChatChanged(**arguments) == events[0]
