"""Whatever is said, changed, taken back and branched, in whatever order: what is remembered is what the chats say."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import NothingToUndo, branch_chat
from apps.extraction.runs.queries import end_of_window
from apps.extraction.settings.stores import change_settings
from apps.memories.models import Inheritance, Memory, MemorySource
from tests.extraction.engine.story import append, delete, edit, message, settle, swipe, swipe_back, tell, undo
from tests.factories import UserFactory
from tests.properties import HISTORIES

# What can all be true at once, and what replaces each other.
FACTS = (
    "FACT(2): Mira keeps an owl in the attic.",
    "EVENT(3): Alice broke the church window.",
    "PREFERENCE(1): Tom hates boiled cabbage.",
    "RELATIONSHIP(2): Bertram trusts nobody but Greta.",
    "EVENT(2): Greta won the ferry at cards.",
)
HOMES = ("FACT(2): Mira lives in Oslo.", "FACT(2): Mira lives in Rome.", "FACT(2): Mira lives in Lima.")
TEXTS = [*FACTS, *HOMES, "Hello there."]
LONG_TERM_ONLY = {
    "summary": False, "scenes": False, "epistemic": False, "session": False, "arcs": False, "ledger": False,
    "profiles": False, "canon": False, "continuity": False, "model_triggers": False, "new_per_kind": 50,
    "long_term_cap": 400, "consolidate_fact": 100, "consolidate_event": 100, "decay_after": 1000,
}  # fmt: skip

WRITES: dict[str, Callable[..., None]] = {"edit": edit, "swipe": swipe, "delete": delete}
places = st.integers(0, 7)
actions = st.one_of(
    st.tuples(st.just("append"), st.sampled_from(TEXTS), st.booleans()),
    st.tuples(st.sampled_from(["edit", "swipe"]), places, st.sampled_from(TEXTS)),
    st.tuples(st.sampled_from(["swipe_back", "delete", "branch"]), places),
    st.tuples(st.sampled_from(["undo", "settle", "next chat"])),
)


@dataclass
class Tree:
    """A chat, its branches, and which of them is written to."""

    owner: User
    chats: list[Chat]
    current: int = 0
    counts: list[int] = field(default_factory=list)

    @property
    def chat(self) -> Chat:
        return Chat.objects.for_owner(self.owner).get(pk=self.chats[self.current].pk)

    def do(self, name: str, *given: Any) -> None:
        chat = self.chat
        if name == "append":
            append(chat, given[0], is_user=given[1])
        elif name == "settle":
            self.settle()
        elif name == "next chat":
            self.current = (self.current + 1) % len(self.chats)
        elif name == "undo":
            self.undo()
        elif given[0] < chat.message_count:
            self.change(chat, name, *given)

    def undo(self) -> None:
        with contextlib.suppress(NothingToUndo):
            undo(self.chat)

    def change(self, chat: Chat, name: str, index: int, *text: str) -> None:
        if name == "branch" and len(self.chats) < 3:
            self.chats.append(branch_chat(self.owner, chat.pk, index))
        elif name == "swipe_back":
            swipe_back(chat, index, len(message(chat, index).ordered_swipes) - 1)
            swipe_back(chat, index, 0)
        elif name in WRITES:
            WRITES[name](chat, index, *text)

    def settle(self) -> None:
        for chat in self.chats:
            assert all(run.state == "succeeded" for run in settle(chat))
        self.check()

    def check(self) -> None:
        self.counts.append(Memory.objects.for_owner(self.owner).count())
        assert self.counts == sorted(self.counts), "a memory was deleted"
        for chat in self.chats:
            self.check_chat(Chat.objects.for_owner(self.owner).get(pk=chat.pk))

    def check_chat(self, chat: Chat) -> None:
        standing = list(Memory.objects.for_owner(self.owner).active_in(chat))
        texts = [memory.text for memory in standing]
        assert len(texts) == len(set(texts)), "something is remembered twice"
        for memory in standing:
            assert memory.text in " ".join(_said_by(chat, memory)), "nobody says so"
        said = _read_in(chat)
        assert {text for text in texts if "lives" not in text} == {
            text.partition(": ")[2] for text in said if text in FACTS
        }
        homes = [text.partition(": ")[2] for text in said if text in HOMES]
        assert bool(homes) == any("lives" in text for text in texts)
        assert {text for text in texts if "lives" in text} <= set(homes)


def _said_by(chat: Chat, memory: Memory) -> list[str]:
    """The texts, as they stand, of the messages of the chat that a memory came from."""
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(memory=memory, lost=False, message__chat=chat)
    taken_over = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, memory=memory, state="active").first()
    ids = {*sources.values_list("message_id", flat=True), *(taken_over.message_ids if taken_over else [])}
    return [one.mes for one in Message.objects.for_owner(chat.owner_id).filter(pk__in=ids).with_swipes()]


def _read_in(chat: Chat) -> list[str]:
    """What was to be read: all but the newest reply, which is known where it was not the newest once."""
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat)
    rows = rows.filter(Q(index__lt=end_of_window(chat)) | Q(progress__isnull=False))
    return [one.mes for one in rows.with_swipes()]


@settings(
    max_examples=HISTORIES,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(done=st.lists(actions, min_size=6, max_size=16))
def test_what_is_remembered_is_what_the_chats_say(done: list[Any], connect: Any, db: None) -> None:
    owner = UserFactory()
    connect(owner)
    change_settings(owner, LONG_TERM_ONLY)
    tree = Tree(owner, [tell(owner, "Hello.", FACTS[0], HOMES[0], "Good.")])
    tree.settle()
    note(repr(done))
    for name, *rest in done:
        tree.do(name, *rest)
    tree.settle()
