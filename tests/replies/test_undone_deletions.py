"""A reply that is deleted while it comes, and brought back: no text is lost, and no partial text is taken for whole."""

import time

import pytest

from apps.chats.locking import Guard
from apps.chats.models import Chat, Message
from apps.chats.operations import Patch, patch_messages
from apps.chats.operations.undo import undo_change
from apps.common import jobs
from apps.replies.models import Generation
from apps.replies.operations import UNCHECKED, request_generation, settle
from apps.replies.running import _keep
from tests.llm.scripted_server import Reply

WHOLE = "It is here, below the stone. " * 6


def last(chat: Chat) -> Message:
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("-index").first()


def is_partial(message: Message) -> bool:
    return message.extra.get("loci", {}).get("partial", False)


def delete(chat: Chat) -> int:
    """Delete the last message. Return the rev of the write."""
    return patch_messages(chat.owner_id, chat.pk, [Patch(id=last(chat).pk, delete=True)], UNCHECKED).chat.rev


def undo(chat: Chat, rev: int) -> None:
    undo_change(chat.owner_id, chat.pk, Guard(optional=True), rev)


def begun(chat: Chat, mode: str = "reply") -> Generation:
    """A generation whose first text is in the chat."""
    generation = jobs.claim(Generation, request_generation(chat.owner_id, chat.pk, mode=mode).pk)
    _keep(generation, "It is")
    return generation


def end(generation: Generation, state: str, text: str) -> None:
    jobs.heartbeat(generation, text=text)
    jobs.end(generation, state)
    generation.refresh_from_db()
    settle(generation)


@pytest.mark.parametrize(("state", "partial"), [("succeeded", False), ("failed", True)])
def test_a_reply_that_ended_while_it_was_deleted_comes_back_whole(
    connect, chat, state, partial, django_capture_on_commit_callbacks
):
    connect()
    generation = begun(chat)
    rev = delete(chat)
    end(generation, state, "It is here.")
    assert last(chat).mes == "Show me."
    with django_capture_on_commit_callbacks(execute=True):
        undo(chat, rev)
    assert (last(chat).mes, is_partial(last(chat))) == ("It is here.", partial)


def test_a_reply_that_is_brought_back_while_it_comes_goes_on(connect, chat):
    connect()
    generation = begun(chat)
    undo(chat, delete(chat))
    assert (last(chat).mes, is_partial(last(chat))) == ("It is", True)
    end(generation, "succeeded", "It is here.")
    assert (last(chat).mes, is_partial(last(chat))) == ("It is here.", False)


def test_a_version_that_ended_while_its_message_was_deleted_comes_back_whole(
    connect, chat, django_capture_on_commit_callbacks
):
    connect()
    end(begun(chat), "succeeded", "It is there.")
    second = begun(chat, "swipe")
    rev = delete(chat)
    end(second, "succeeded", "It is here.")
    with django_capture_on_commit_callbacks(execute=True):
        undo(chat, rev)
    assert [swipe.mes for swipe in last(chat).ordered_swipes] == ["It is there.", "It is here."]
    assert not is_partial(last(chat))


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("waits", [True, False], ids=["after its end", "while it comes"])
def test_nothing_of_a_slow_reply_is_lost(kept_celery_worker, connect, server, chat, waits):
    connect(stream=True)
    reply = Reply(WHOLE, pace=0.5, stream=True)
    server.reply_with(reply)
    kept_celery_worker("replies")
    request_generation(chat.owner_id, chat.pk, mode="reply")
    until(lambda: last(chat).mes.startswith("It is"))
    assert is_partial(last(chat))
    rev = delete(chat)
    if waits:
        reply.hurry.set()
        until(lambda: has_ended(chat))
    undo(chat, rev)
    reply.hurry.set()
    until(lambda: has_ended(chat) and not is_partial(last(chat)))
    assert last(chat).mes.strip() == WHOLE.strip()


def has_ended(chat: Chat) -> bool:
    return Generation.objects.for_owner(chat.owner_id).filter(chat=chat, state="succeeded", settled=True).exists()


def until(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
