"""A session that watches its chat: by the server's events, and by asking where there are none."""

import datetime as dt
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import anyio
import httpx
import pytest
from django.db import transaction
from loci_client import AsyncLoci, Loci

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Chat, ChatChange
from apps.chats.operations import append_messages
from apps.common.scoping import system_scope
from apps.memories.operations import delete_memory
from apps.memories.queries import tombstones
from apps.sync.api import views
from tests.clients.conftest import PLAIN, QUICK
from tests.clients.unreliable import Answer, Lost, Passing, Proxy
from tests.conftest import WebServer
from tests.factories import make_memory, parsed

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 60  # seconds
Watch = Callable[..., "queue.Queue[Any]"]


@pytest.fixture
def watch() -> Iterator[Watch]:
    """A function that has a thread watch a session, and hands over what that yields."""
    watched: list[tuple[Any, threading.Event, threading.Thread]] = []

    def start(session: Any, **options: Any) -> "queue.Queue[Any]":
        found: queue.Queue[Any] = queue.Queue()
        stop = threading.Event()
        session.load()

        def work() -> None:
            for change in session.watch(stop=stop, **options):
                found.put(change)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        watched.append((session, stop, thread))
        return found

    yield start
    for session, stop, thread in watched:
        stop.set()
        session.append({"mes": "The end."})  # a word from the server, with which the thread sees that it is to end
        thread.join(PATIENCE)
        assert not thread.is_alive()


def without_events(passing: Passing) -> Answer | httpx.Response:
    return Answer(404) if "/events/" in passing.path else passing.send()


def test_without_events_the_server_is_asked(loci: Loci, proxy: Proxy, chat: dict[str, Any], watch: Watch) -> None:
    proxy.rule = without_events
    session, other = loci.session(chat["id"], replica=True), loci.session(chat["id"])
    news = watch(session, poll_every=0.1)
    session.append({"mes": "Mine."})
    other.append({"mes": "Theirs."})
    change = news.get(timeout=PATIENCE)
    assert (change["kind"], [message["mes"] for message in change["messages"]]) == ("append", ["Theirs."])
    assert [message["mes"] for message in session.state.messages or ()][3:] == ["Mine.", "Theirs."]
    assert news.empty()


def test_a_write_that_changes_nothing_hides_nobody_elses(
    loci: Loci, proxy: Proxy, chat: dict[str, Any], watch: Watch
) -> None:
    """The reply to it tells the rev of what somebody else wrote."""
    proxy.rule = without_events
    session, other = loci.session(chat["id"]), loci.session(chat["id"])
    news = watch(session, poll_every=1)
    [first, *_] = loci.get_messages(chat["id"])["results"]
    other.delete(first)
    session.delete(first)
    other.patch_metadata({"mood": "tense"})
    assert session.patch_metadata({"mood": "tense"})["mood"] == "tense"
    assert [news.get(timeout=PATIENCE)["kind"] for _ in range(2)] == ["patch", "metadata"]


def test_a_server_that_is_away_is_waited_for(loci: Loci, proxy: Proxy, chat: dict[str, Any], watch: Watch) -> None:
    proxy.rule = without_events
    news = watch(loci.session(chat["id"]), poll_every=0.05)

    def away(passing: Passing) -> Answer | httpx.Response:
        raise Lost

    proxy.rule = away
    threading.Event().wait(0.5)
    proxy.rule = without_events
    loci.append(chat["id"], [{"mes": "Theirs."}])
    assert news.get(timeout=PATIENCE)["kind"] == "append"


def test_where_the_log_is_gone_all_is_told(loci: Loci, proxy: Proxy, chat: dict[str, Any], watch: Watch) -> None:
    proxy.rule = without_events
    news = watch(loci.session(chat["id"], replica=True), poll_every=0.05)
    loci.append(chat["id"], [{"mes": "One."}])
    with system_scope():
        ChatChange.objects.all().delete()
    loci.append(chat["id"], [{"mes": "Two."}])
    change = news.get(timeout=PATIENCE)
    while change["kind"] != "reload":
        change = news.get(timeout=PATIENCE)
    assert [message["mes"] for message in change["messages"]][3:] in (["One."], ["One.", "Two."])


def test_a_deleted_memory_is_told_once(loci: Loci, proxy: Proxy, chat: dict[str, Any], watch: Watch) -> None:
    proxy.rule = without_events
    with system_scope():
        memory = make_memory(Chat.objects.get(pk=chat["id"]), "Tom likes tea.")
    news = watch(loci.session(chat["id"]), poll_every=0.05)
    delete_memory(memory)
    change = news.get(timeout=PATIENCE)
    assert (change["kind"], [tomb["id"] for tomb in change["tombstones"]]) == ("tombstones", [str(memory.pk)])
    loci.append(chat["id"], [{"mes": "Theirs."}])
    assert news.get(timeout=PATIENCE)["kind"] == "append"


def test_each_of_many_deleted_memories_is_told_once_also_where_the_log_is_gone(
    loci: Loci, proxy: Proxy, chat: dict[str, Any], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.rule = without_events
    monkeypatch.setattr(tombstones, "MAX_TOMBSTONES", 3)
    with system_scope():
        memories = [make_memory(Chat.objects.get(pk=chat["id"]), f"Tom likes {n} teas.") for n in range(20)]
    news = watch(loci.session(chat["id"]), poll_every=0.05)
    for memory in memories[:10]:
        delete_memory(memory)
    told = list[str]()
    while len(told) < 10:
        told += [tomb["id"] for tomb in news.get(timeout=PATIENCE)["tombstones"]]
    monkeypatch.setattr(views, "OVERLAP", dt.timedelta())
    with transaction.atomic(), system_scope():
        for memory in memories[10:]:
            delete_memory(memory)
        ChatChange.objects.all().delete()
        append_messages(memories[0].owner_id, UUID(chat["id"]), [parsed("On.")])
    while len(told) < 20:
        told += [tomb["id"] for tomb in news.get(timeout=PATIENCE).get("tombstones", ())]
    assert sorted(told) == sorted(str(memory.pk) for memory in memories)


@pytest.fixture
def served(web_server: WebServer) -> tuple[str, str]:
    """Address and token at a server that can keep connections open."""
    _, secret = create_token(User.objects.create_user("alice@example.com"), name="test")
    return web_server.url, secret


@pytest.fixture
def connected(served: tuple[str, str]) -> Iterator[Loci]:
    with Loci(*served, retry=QUICK, http=httpx.Client(**PLAIN)) as loci:
        yield loci


# Longer than a test may take: what comes has come by the stream.
NEVER = 10_000.0


def test_events_come_at_once(connected: Loci, watch: Watch) -> None:
    chat_id = connected.create_chat("The heist")["id"]
    session, other = connected.session(chat_id, replica=True), connected.session(chat_id)
    news = watch(session, poll_every=NEVER)
    for n in range(3):
        session.append({"mes": "Mine."})
        other.append({"mes": f"Theirs {n}."})
        change = news.get(timeout=PATIENCE)
        assert [message["mes"] for message in change["messages"]] == [f"Theirs {n}."]


def test_events_come_at_once_to_asyncio(served: tuple[str, str]) -> None:
    async def talk() -> list[Any]:
        async with AsyncLoci(*served, retry=QUICK, http=httpx.AsyncClient(**PLAIN)) as loci:
            chat_id = (await loci.create_chat("The heist"))["id"]
            session, other = loci.session(chat_id), loci.session(chat_id)
            await session.load()
            found = []
            await other.append({"mes": "One."})
            with anyio.fail_after(PATIENCE):
                async for change in session.watch(poll_every=NEVER):
                    found += [message["mes"] for message in change["messages"]]
                    if len(found) == 3:
                        break
                    await other.append({"mes": "More."})
            return found

    # In a thread of its own: the browser tests leave a loop running in the main one.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(anyio.run, talk).result() == ["One.", "More.", "More."]


class LateBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of a stream of events. The server listens for writes from when it is read."""

    listens = False

    def __iter__(self) -> Iterator[bytes]:
        self.listens = True
        yield b"retry: 2000\n\n"
        yield b": beat\n\n"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in iter(self):
            yield chunk


def test_a_stream_starts_when_the_server_listens() -> None:
    """What is written after the headers, but before that, is told by no event: it has to be read afterwards."""
    body = LateBody()
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=body))
    words = Loci("http://loci", "token", http=httpx.Client(transport=transport)).words("0198")
    assert (next(words), body.listens) == (True, True)
    assert list(words) == [False]


def test_a_stream_starts_when_the_server_listens_to_asyncio() -> None:
    body = LateBody()
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=body))

    async def read() -> list[tuple[bool, bool]]:
        loci = AsyncLoci("http://loci", "token", http=httpx.AsyncClient(transport=transport))
        return [(word, body.listens) async for word in loci.words("0198")]

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(anyio.run, read).result() == [(True, True), (False, True)]
