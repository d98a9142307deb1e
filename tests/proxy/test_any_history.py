"""Whatever a client does to its history, and however it continues replies: Loci's chat equals the client's own."""

import json
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.chats.models import Message
from apps.proxy.collected_replies import collected_reply
from apps.proxy.operations.replies import store_reply
from apps.proxy.requests.nudges import Nudge, nudge_of
from apps.proxy.requests.texts import unspaced
from apps.proxy.requests.turns import opening_of, turns_of
from tests.factories import UserFactory
from tests.properties import WITH_DATABASE
from tests.proxy.requests import store_request

ACTIONS = ("send", "edit", "rewrite", "delete", "delete_exchange", "swipe", "swipe_back", "regenerate", "continue")
CONTINUE = "[Continue your last message without repeating its original content.]"
WORDS = "the old lighthouse keeper of the harbour lost a silver key in deep snow while nobody was there to see".split()


@dataclass
class Sent:
    """A message of the client: its swipes, of which ``active`` is shown. ``known`` are those that Loci has seen."""

    is_user: bool
    swipes: list[str]
    active: int = 0
    known: set[str] = field(default_factory=set)

    @property
    def shown(self) -> str:
        return self.swipes[self.active]


@dataclass
class Client:
    """A program with a history of its own, which it sends with each request. ``joint`` is how it joins texts."""

    owner: User
    joint: str
    follows: bool
    messages: list[Sent] = field(default_factory=list)
    chat: UUID | None = None
    count: int = 0
    changed: bool = False  # since the last request
    moved: Sent | None = None  # what stands after another message than in the last request

    def text(self) -> str:
        self.count += 1
        words = [WORDS[(self.count * step) % len(WORDS)] for step in range(1, 8)]
        return f"{' '.join(words)} {self.count}."

    def request(self, messages: list[Sent], *, is_continuation: bool = False) -> str:
        """Send messages as the proxy gets them, and return the text of the reply."""
        sent = [{"role": "system", "content": "You are Mira."}]
        sent += [{"role": "user" if one.is_user else "assistant", "content": one.shown} for one in messages]
        sent += [{"role": "system", "content": CONTINUE}] if is_continuation else []
        turns = turns_of(sent)
        stored = store_request(
            self.owner,
            turns,
            opening=opening_of(sent),
            named=self.chat,
            follows=self.follows,
            is_nudged=nudge_of(sent, turns) is Nudge.NEXT_REPLY,
        )
        self.chat = stored.chat.pk
        reply = self.text()
        choice = {"index": 0, "message": {"content": reply}, "finish_reason": "stop"}
        store_reply(stored, collected_reply(json.dumps({"choices": [choice]}).encode()))
        for one in messages:
            one.known.add(one.shown)
        self.changed, self.moved = False, None
        return reply

    def act(self, action: str, number: int) -> None:
        if self.changed and action in ("edit", "rewrite", "delete", "delete_exchange") and not self.follows:
            action = "send"  # what else was changed at once could as well be what no longer fits the context
        last = self.messages[-1] if self.messages else None
        inside = range(1, len(self.messages) - (0 if self.follows else 2))
        at = inside[number % len(inside)] if inside else 0
        if action == "send" or last is None:
            self.messages.append(Sent(True, [self.text()]))
            self.receive(self.messages)
        elif action in ("edit", "rewrite") and at:
            one = self.messages[at]
            one.known.discard(one.shown)
            one.swipes[one.active] = self.text() if action == "rewrite" else f"{one.shown} Or so it was said."
            self.changed = True
        elif action in ("delete", "delete_exchange") and at:
            del self.messages[at : at + (2 if action == "delete_exchange" else 1)]
            self.changed = True
            self.moved = self.messages[at] if at < len(self.messages) else None
        elif last.is_user:
            self.receive(self.messages)
        elif action == "swipe":
            if last is self.moved:
                # The request is the same as if what follows its last message had been deleted, and the reply that
                # was deleted here had got a swipe. Loci knows these texts again once the client shows them.
                last.known.clear()
            last.swipes.append(self.request(self.messages[:-1]))
            last.active = len(last.swipes) - 1
            last.known.add(last.shown)
        elif action == "swipe_back":
            last.active = number % len(last.swipes)
        elif action == "regenerate":
            self.messages.pop()
            self.receive(self.messages)
        elif action == "continue":
            added = self.request(self.messages, is_continuation=number % 2 == 0)
            last.known.discard(last.shown)
            last.swipes[last.active] = f"{last.shown}{self.joint}{added}"
            last.known.add(last.shown)

    def receive(self, messages: list[Sent]) -> None:
        reply = self.request(messages)
        self.messages.append(Sent(False, [reply], known={reply}))


def stored_messages(client: Client) -> list[Message]:
    messages = Message.objects.for_owner(client.owner).filter(chat=client.chat)
    return list(messages.with_swipes().order_by("index"))


@pytest.mark.django_db
@settings(max_examples=WITH_DATABASE)
@given(
    st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 30)), min_size=3, max_size=20),
    st.sampled_from(["", " ", "\n"]),
    st.booleans(),
)
@example([("send", 0), ("send", 0), ("delete_exchange", 0), ("swipe", 0)], "", False)
@example([("send", 0), ("send", 0), ("delete_exchange", 0), ("swipe", 0), ("swipe_back", 0)], "", False)
@example([("send", 0), ("send", 0), ("delete_exchange", 0), ("swipe", 0), ("swipe_back", 0)], "", True)
@example([("send", 0), ("send", 0), ("swipe", 0), ("delete_exchange", 0), ("swipe_back", 0)], "", False)
def test_the_stored_chat_equals_the_clients_after_any_history(
    taken: list[tuple[str, int]], joint: str, follows: bool
) -> None:
    client = Client(UserFactory(), joint, follows)
    for action, number in taken:
        client.act(action, number)
    client.act("send", 0)
    stored = stored_messages(client)
    assert [message.mes for message in stored] == [one.shown for one in client.messages]
    for message, one in zip(stored, client.messages, strict=True):
        assert {unspaced(text) for text in one.known} <= {unspaced(swipe.mes) for swipe in message.swipes.all()}
