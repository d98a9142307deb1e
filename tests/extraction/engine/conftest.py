"""A story that a scripted model reads: who owns it, how it is told, and how its runs are taken."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction.settings.stores import change_settings
from apps.llm.models import Connection
from apps.llm.operations import create_connection, use_for
from tests.extraction.engine import storyteller
from tests.factories import UserFactory
from tests.llm.scripted_server import Answer, ScriptedServer

# What is searched isn't looked at here. The storyteller says whether a scene begins, so that it tells them apart alike
# whatever stands around.
QUIET = {"index_messages": False, "extract_every": 1, "scene_check": "model", "reading": "separate"}
# Settings of tests that look at memories alone: each further layer is another call.
MEMORIES_ALONE = dict.fromkeys(
    ("summary", "scenes", "epistemic", "arcs", "ledger", "profiles", "canon", "continuity"), False
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(storyteller.answer) as server:
        yield server


@pytest.fixture
def connect(server: ScriptedServer) -> Callable[..., Connection]:
    """A function that connects somebody to the scripted model, for generation and embeddings."""

    def connect(owner: User, **fields: Any) -> Connection:
        given: dict[str, Any] = {
            "name": "Scripted",
            "backend": "openai",
            "base_url": f"{server.url}/v1",
            "model": "storyteller",
            "embedding_model": "scripted-vectors",
            "timeout": 5,
            "parallel_calls": 16,  # a killed process holds its place for half a minute
        }
        connection = create_connection(owner, **(given | fields))
        use_for(connection, generation=True, embeddings=True)
        change_settings(owner, QUIET)
        return connection

    return connect


@pytest.fixture
def owner(db: None, connect: Callable[..., Connection]) -> User:
    """Somebody whose model is the scripted one."""
    owner = UserFactory()
    connect(owner)
    return owner


Meanwhile = Callable[..., list[str]]


@pytest.fixture
def meanwhile(server: ScriptedServer, transactional_db: None) -> Meanwhile:
    """A function that has something happen while the model answers the first request of a task.

    It returns the list of the tasks at which it has happened. It happens in a thread of the server, so that it is
    committed when the pipeline goes on.
    """

    def meanwhile(task: str, action: Callable[[], object], *, then: Answer = storyteller.answer) -> list[str]:
        from django.db import connection

        happened: list[str] = []

        def work(request: Any) -> Any:
            happened.append(task)
            try:
                action()
            finally:
                connection.close()
            return then(request) if callable(then) else then

        server.reply_to(lambda request: not happened and storyteller.task_of(request) == task, work)
        return happened

    return meanwhile


def tune(chat: Chat, **changes: Any) -> None:
    """Settings of one chat."""
    change_settings(chat.owner_id, changes, chat=chat)
