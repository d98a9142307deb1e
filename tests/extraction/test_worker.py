"""With a real worker: an imported chat is remembered by itself."""

import io
import json
import time
from collections.abc import Callable

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.exchange.chats.imports import import_chats
from apps.extraction.models import ExtractionRun
from apps.memories.models import Memory, Passage
from tests.factories import UserFactory

pytestmark = pytest.mark.worker

StartWorker = Callable[..., None]


def imported(owner: User, count: int) -> Chat:
    """A chat of ``count`` lines, with a fact and a plan to remember in turn, and a last one of the user's."""
    lines = [{"user_name": "Alice", "character_name": "Mira"}]
    for n in range(count):
        fact = f"My cousin number {n} is called Anna{n} and moved to a village in {1700 + n} with {n + 2} dogs."
        plan = f"We decided to search the harbour of Port{n} together with Captain Orla{n} tomorrow at {n + 2}."
        text = plan if n % 2 else fact
        lines.append({"name": "Mira", "is_user": False, "mes": text})
    lines.append({"name": "Alice", "is_user": True, "mes": "And now?"})
    file = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    [chat] = import_chats(owner, file, filename="cousins.jsonl").chats
    return chat


def run_of(chat: Chat) -> ExtractionRun | None:
    return ExtractionRun.objects.for_owner(chat.owner_id).filter(chat=chat).first()


def wait_for(chat: Chat, condition: Callable[[ExtractionRun], bool], seconds: float = 60) -> ExtractionRun:
    """The chat's run, as soon as the condition holds."""
    deadline = time.monotonic() + seconds
    while not ((run := run_of(chat)) and condition(run)):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)
    return run


def test_an_imported_chat_is_remembered_by_itself(kept_celery_worker: StartWorker) -> None:
    owner = UserFactory()
    chat = imported(owner, 5)
    kept_celery_worker()
    run = wait_for(chat, lambda run: not run.is_active)
    assert (run.state, run.error, run.done) == ("succeeded", "", run.total)
    memories = Memory.objects.for_owner(owner).filter(chat=chat)
    assert {memory.tier for memory in memories} == {"session", "long_term"}
    assert all(memory.embedding is not None for memory in memories)
    deadline = time.monotonic() + 60
    while Passage.objects.for_owner(owner).filter(chat=chat).count() < 6:
        assert time.monotonic() < deadline, "the messages are not indexed"
        time.sleep(0.05)
