"""Sessions write at random to a chat of this server, over a network that loses, delays and repeats requests."""

import datetime as dt
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.test import Client, override_settings
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from loci_client import (
    EditConflict,
    IntegrityConflict,
    Invalid,
    KeyReused,
    Loci,
    NothingToUndo,
    RetryPolicy,
    ServerError,
    Unavailable,
)

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import ChatChange, Swipe
from apps.chats.operations.trimming import trim_change_logs
from apps.common.scoping import system_scope
from apps.sync.idempotency import drop_old_bodies
from tests.properties import HISTORIES

BEGINNING = ["the first message", "a second one", "and the third 😀 of them"]
# With and without a copy of all messages.
REPLICAS = [True, True, False]
WITHOUT_PAUSES = RetryPolicy(tries=3, first=0, longest=0)
REFUSALS = (EditConflict, IntegrityConflict, NothingToUndo, Invalid)  # the last: of a message that is gone

who = st.integers(0, len(REPLICAS) - 1)
places = st.integers(0, 30)
weather = st.lists(st.sampled_from(["fine", "fine", "lost", "away", "held", "twice", "503"]), max_size=4)


class Network(httpx.BaseTransport):
    """Passes requests to the application in this process. ``faults`` are what becomes of the next ones.

    ``who`` is the session that sends them. ``held`` are those under way, each with its session.
    """

    def __init__(self) -> None:
        self._client = Client()
        self.faults: list[str] = []
        self.who = 0
        self.held: list[tuple[int, httpx.Request]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        fault = self.faults.pop(0) if self.faults else "fine"
        if fault == "away":
            raise httpx.ConnectError("away")
        if fault == "held":
            self.held.append((self.who, request))
            raise httpx.ReadTimeout("on its way")
        if fault == "503":
            return httpx.Response(503)
        response = self.send(request)
        if fault == "lost":
            raise httpx.ReadError("lost")
        return self.send(request) if fault == "twice" else response

    def send(self, request: httpx.Request) -> httpx.Response:
        path, headers = request.url.raw_path.decode(), dict(request.headers)
        content_type = headers.pop("content-type", "")
        response = self._client.generic(
            request.method, path, request.content, content_type=content_type, headers=headers
        )
        return httpx.Response(response.status_code, headers=list(response.items()), content=response.content)


class Interleavings(RuleBasedStateMachine):
    """``stored`` are the words that have to be in the chat once, ``open`` the calls without a reply, by their word."""

    token: str

    @initialize()
    def begin(self) -> None:
        self.network = Network()
        self.loci = Loci(
            "http://testserver", self.token, retry=WITHOUT_PAUSES, http=httpx.Client(transport=self.network)
        )
        self.chat_id = self.loci.create_chat("The heist")["id"]
        self.loci.append(self.chat_id, [{"mes": text} for text in BEGINNING])
        self.sessions = [self.loci.session(self.chat_id, replica=replica) for replica in REPLICAS]
        self.seen = [self.read() for _ in self.sessions]
        self.since = [session.load().integrity for session in self.sessions]
        self.begun = self.sessions[0].state.rev
        self.written: list[set[int]] = [set() for _ in self.sessions]  # revs, by the session that wrote them
        self.news: list[set[int]] = [set() for _ in self.sessions]  # revs that a session was told of as others'
        self.words = 0
        self.stored: set[str] = set()
        self.open: dict[str, tuple[int, Callable[..., Any], str]] = {}

    def read(self) -> list[Any]:
        return list(self.loci.get_messages(self.chat_id, 0, 200)["results"])

    def tokens(self) -> Counter[str]:
        """Return how often each word is in the chat."""
        with system_scope():
            texts = Swipe.objects.filter(message__chat=self.chat_id).values_list("mes", flat=True)
            return Counter(word for text in texts for word in text.split(" "))

    def revs(self) -> set[int]:
        with system_scope():
            return set(ChatChange.objects.filter(chat=self.chat_id).values_list("rev", flat=True))

    def word(self) -> str:
        self.words += 1
        return f"w{self.words}"

    def call(self, n: int, faults: list[str], action: Callable[[], Any], *, removes: bool = False) -> bool | None:
        """Do what session ``n`` is asked to. Return whether it was stored, or None if no reply came."""
        before, revs = self.tokens(), self.revs()
        self.network.faults, self.network.who = list(faults), n
        is_stored: bool | None = True
        try:
            action()
        except REFUSALS:
            is_stored = False
        except (Unavailable, ServerError):
            is_stored = None
        finally:
            self.network.faults = []
        self.written[n] |= self.revs() - revs
        self.lose(before, allowed=removes)
        return is_stored

    def lose(self, before: Counter[str], *, allowed: bool) -> None:
        """Compare the words of the chat with those ``before``. Forget those that were removed on purpose."""
        now = self.tokens()
        lost = {word for word in before if word not in now}
        assert allowed or not lost
        self.stored -= lost
        assert {word for word, count in now.items() if count > 1 and word.startswith("w")} == set()
        known = {f"w{n}" for n in range(1, self.words + 1)} | set(" ".join(BEGINNING).split(" "))
        assert set(now) <= known, "a garbled text"
        assert self.stored <= set(now)

    def add(self, n: int, faults: list[str], action: Callable[..., Any], word: str) -> None:
        """Do what stores ``word``. If no reply comes, it can be repeated with the key."""

        def keyed() -> None:
            try:
                action()
            except Unavailable as error:
                self.open[word] = (n, action, error.key or "")
                raise

        self.settle(word, self.call(n, faults, keyed))

    def settle(self, word: str, is_stored: bool | None) -> None:
        if is_stored:
            assert self.tokens()[word] == 1
            self.stored.add(word)
        elif is_stored is False:
            assert self.tokens()[word] == 0

    def target(self, n: int, place: int) -> Any:
        """Return a message as the session, or its user, knows it; None if there is none."""
        messages = list(self.sessions[n].state.messages or self.seen[n]) if REPLICAS[n] else self.seen[n]
        return messages[place % len(messages)] if messages else None

    # What sessions do

    @rule(n=who, faults=weather)
    def append(self, n: int, faults: list[str]) -> None:
        word = self.word()
        self.add(n, faults, lambda **key: self.sessions[n].append({"mes": word}, **key), word)

    @rule(n=who, place=places, part=st.sampled_from(["insert_before", "add_swipe"]), faults=weather)
    def create(self, n: int, place: int, part: Any, faults: list[str]) -> None:
        if message := self.target(n, place):
            word = self.word()
            patch: Any = {"id": message["id"], part: {"mes": word}}
            self.add(n, faults, lambda **key: self.sessions[n].patch(patch, **key), word)

    @precondition(lambda self: self.open)
    @rule(choice=places, faults=weather)
    def repeat(self, choice: int, faults: list[str]) -> None:
        """Repeat a call whose reply was lost, after any time."""
        word = sorted(self.open)[choice % len(self.open)]
        n, action, key = self.open[word]
        was_there = self.tokens()[word]

        def again() -> None:
            try:
                action(key=key)
            except KeyReused:
                self.open.pop(word)

        is_stored = self.call(n, faults, again)
        if is_stored is not None:
            self.open.pop(word, None)
        if was_there:
            assert self.tokens()[word] == 1

    @rule(n=who, place=places, at=places, faults=weather)
    def edit(self, n: int, place: int, at: int, faults: list[str]) -> None:
        if message := self.target(n, place):
            word, words = self.word(), message["mes"].split(" ")
            words.insert(at % (len(words) + 1), word)
            text = " ".join(words)
            self.settle(word, self.call(n, faults, lambda: self.remember(n, self.sessions[n].edit(message, text))))

    def remember(self, n: int, message: Any) -> None:
        self.seen[n] = [message if known["id"] == message["id"] else known for known in self.seen[n]]

    @rule(n=who, place=places, faults=weather)
    def hide(self, n: int, place: int, faults: list[str]) -> None:
        if message := self.target(n, place):
            self.call(n, faults, lambda: self.sessions[n].change(message, {"is_system": True}, extra={"n": n}))

    @rule(n=who, place=places, to=places, faults=weather)
    def move(self, n: int, place: int, to: int, faults: list[str]) -> None:
        if message := self.target(n, place):
            to %= max(len(self.read()), 1)  # the first messages can have been undone
            self.call(n, faults, lambda: self.sessions[n].patch({"id": message["id"], "move_to": to}))

    @rule(n=who, place=places, faults=weather, both=st.booleans())
    def delete(self, n: int, place: int, faults: list[str], both: bool) -> None:
        """Delete a message, and another session the same."""
        message = self.target(n, place)
        if message is None or len(self.read()) < 3:
            return
        self.call(n, faults, lambda: self.sessions[n].delete(message), removes=True)
        other = (n + 1) % len(self.sessions)
        if both and (known := next((it for it in self.seen[other] if it["id"] == message["id"]), None)):
            self.call(other, [], lambda: self.sessions[other].delete(known), removes=True)

    @rule(n=who, key=st.sampled_from("ab"), value=st.integers(0, 1), faults=weather)
    def metadata(self, n: int, key: str, value: int, faults: list[str]) -> None:
        self.call(n, faults, lambda: self.sessions[n].patch_metadata({key: value}))

    @rule(n=who, faults=weather)
    def undo(self, n: int, faults: list[str]) -> None:
        self.call(n, faults, self.sessions[n].undo, removes=True)

    @rule(n=who)
    def look(self, n: int) -> None:
        """A session is told what others wrote, and its user reads the messages."""
        changes, self.since[n] = self.sessions[n].run(self.sessions[n].core.news(self.since[n]))
        self.news[n] |= {change["rev"] for change in changes}
        if any(change["kind"] == "reload" for change in changes):
            self.news[n] |= set(range(self.sessions[n].state.rev))
        state = self.sessions[n].state
        assert state.messages is None or list(state.messages) == self.read()
        self.seen[n] = self.read()

    # What happens around them

    @rule()
    def deliver(self) -> None:
        """The network delivers what it held."""
        for n, request in self.network.held:
            before, revs = self.tokens(), self.revs()
            self.network.send(request)
            self.written[n] |= self.revs() - revs
            removes = request.url.path.endswith("/undo/") or b'"delete":true' in request.content
            self.lose(before, allowed=removes)
        self.network.held = []

    @rule(days=st.sampled_from([2, 40]))
    def pass_days(self, days: int) -> None:
        now = timezone.now() + dt.timedelta(days=days)
        drop_old_bodies(now)
        trim_change_logs(now)

    def teardown(self) -> None:
        if not hasattr(self, "open"):
            return
        self.deliver()
        for n, session in enumerate(self.sessions):
            session.load()
            self.look(n)
            theirs = set(range(self.begun + 1, session.state.rev + 1)) - self.written[n]
            assert theirs <= self.news[n], "a write of others that a session was not told of"


@pytest.mark.interleaving
def test_nothing_is_lost_stored_twice_garbled_or_hidden(db: None) -> None:
    _, Interleavings.token = create_token(User.objects.create_user("alice@example.com"), name="test")
    with override_settings(CHANGE_LOG_MIN=3):  # so that sessions fall behind the log
        run_state_machine_as_test(
            Interleavings,
            settings=settings(
                max_examples=HISTORIES, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
