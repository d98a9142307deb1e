"""Whatever is branched, deleted, restored and changed, in whatever order: nobody recalls what they can't know.

And nobody loses what they can know to a successor that they can't.
"""

import contextlib
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q
from hypothesis import HealthCheck, Phase, example, given, note, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import NothingToUndo, branch_chat, delete_chat, purge_chat, restore_chat
from apps.extraction.settings.stores import change_settings
from apps.memories.models import Inheritance, Memory, MemorySource
from apps.memories.queries.memories import active_memories
from apps.prompts.retrieval.found import chosen_memories
from apps.prompts.turns import find_turn
from apps.search.service import SearchQuery, search
from tests.extraction.engine.story import append, delete, edit, settle, swipe, swipe_back, undo
from tests.extraction.engine.test_any_order import FACTS, LONG_TERM_ONLY
from tests.factories import UserFactory, make_character, make_chat
from tests.properties import HISTORIES

# The scripted model lets a statement with "now" replace an older one.
HOMES = [f"FACT(2): Mira lives in {city} now." for city in ("Oslo", "Rome", "Lima")]
HOMES_LEARNT = {text.partition(": ")[2] for text in HOMES}
TEXTS = [*FACTS[:3], *HOMES]
MAX_CHATS = 5
DAY_ONE = dt.date(2020, 1, 1)

places = st.integers(0, 5)
chats = st.integers(0, MAX_CHATS - 1)
actions = st.one_of(
    st.tuples(st.just("append"), chats, st.sampled_from(TEXTS)),
    st.tuples(st.sampled_from(["edit", "swipe"]), chats, places, st.sampled_from(TEXTS)),
    st.tuples(st.sampled_from(["swipe_back", "remove", "branch"]), chats, places),
    st.tuples(st.sampled_from(["delete", "delete keeping", "restore", "purge", "undo"]), chats),
)
CHANGES: dict[str, Callable[..., None]] = {
    "edit": edit,
    "swipe": swipe,
    "swipe_back": lambda chat, index: swipe_back(chat, index, 0),
    "remove": delete,
}


@dataclass
class Stories:
    """Two stories of one character, with their branches."""

    owner: User
    character: Character
    ids: list[UUID]
    said: int = 0  # each message is said a day after the one before, so that chats supersede each other

    def say(self, chat: Chat, *texts: str) -> None:
        for text in texts:
            self.said += 1
            append(chat, text, send_date=f"{DAY_ONE + dt.timedelta(days=self.said):%Y-%m-%dT10:00:00Z}")

    def do(self, name: str, number: int, *given: Any) -> None:
        pk = self.ids[number % len(self.ids)]
        chat = Chat.objects.for_owner(self.owner).filter(pk=pk).first()
        if name == "restore" and Chat.in_bin.for_owner(self.owner).filter(pk=pk).exists():
            restore_chat(self.owner, pk)
        elif name == "purge" and Chat._base_manager.filter(pk=pk).exists():
            purge_chat(self.owner, pk)
        elif chat is not None:
            self.change(chat, name, *given)

    def change(self, chat: Chat, name: str, *given: Any) -> None:
        if name.startswith("delete"):
            delete_chat(chat, keep_memories=name == "delete keeping")
        elif name == "append":
            self.say(chat, given[0])
        elif name == "undo":
            with contextlib.suppress(NothingToUndo):
                undo(chat)
        elif given and given[0] < chat.message_count:
            if name == "branch" and len(self.ids) < MAX_CHATS:
                self.ids.append(branch_chat(self.owner, chat.pk, given[0]).pk)
            elif name in CHANGES:
                CHANGES[name](chat, *given)

    def settle(self) -> None:
        for chat in self.live():
            assert all(run.state == "succeeded" for run in settle(chat))

    def live(self) -> list[Chat]:
        return list(Chat.objects.for_owner(self.owner).filter(pk__in=self.ids).select_related("character"))

    def check(self) -> None:
        for memory in Memory.objects.for_owner(self.owner).active():
            assert memory.kept or self.says(memory, self.sources(memory)), f"nobody says {memory.text}"
        for chat in self.live():
            for memory in self.recalled(chat):
                assert memory.text, memory
                assert self.can_be_known(chat, memory), f"{memory.text} is recalled in {chat.title}"
            homes = {memory.text for memory in self.recalled(chat)} & HOMES_LEARNT
            known = self.known_homes(chat)
            assert homes or not known, f"{chat.title} recalls none of {known}, and nothing in their place"

    def known_homes(self, chat: Chat) -> list[str]:
        """Return the homes that the chat can know of, also from memories that were superseded somewhere."""
        gone = Inheritance.objects.for_owner(self.owner).filter(chat=chat, state="retired").values("memory")
        rows = Memory.objects.for_owner(self.owner).present().filter(text__in=HOMES_LEARNT)
        rows = rows.exclude(state="retired", inheritances=None).exclude(pk__in=gone)
        return [memory.text for memory in rows if self.can_be_known(chat, memory)]

    def recalled(self, chat: Chat) -> set[Memory]:
        """Return what the chat's search, prompt, runs and lists have."""
        query = SearchQuery("Mira Tom Alice lives in", chat=chat.pk, character=self.character.pk, tiers=["long_term"])
        found = {result.memory for result in search(self.owner, query).results if result.memory}
        in_prompt = chosen_memories(find_turn(chat, "Where does Mira live?"), ["long_term"], self.character, [])[
            "long_term"
        ]
        return {
            *found,
            *Memory.objects.for_owner(self.owner).filter(pk__in=[active.id for active in in_prompt]),
            *active_memories(chat, "long_term", self.character.pk),
            *Memory.objects.for_owner(self.owner).active_in(chat),
        }

    def can_be_known(self, chat: Chat, memory: Memory) -> bool:
        inheritance = Inheritance.objects.for_owner(self.owner).filter(chat=chat, memory=memory).first()
        if inheritance is not None:
            return self.says(memory, Q(chat=chat, pk__in=inheritance.message_ids))
        if memory.chat_id == chat.pk:
            return self.says(memory, self.sources(memory))
        if memory.story == chat.story:
            return False
        return memory.kept or self.says(memory, self.sources(memory))

    def sources(self, memory: Memory) -> Q:
        """Return the condition of the messages that a memory comes from, or its copies in branches."""
        links = MemorySource.objects.for_owner(self.owner).filter(memory=memory, lost=False)
        copies = Inheritance.objects.for_owner(self.owner).filter(memory=memory).values_list("message_ids", flat=True)
        ids = {*links.values_list("message_id", flat=True), *(pk for row in copies for pk in row)}
        return Q(pk__in=ids) & (Q(chat__deleted_at=None) | Q(chat__keeps_memories=True))

    def says(self, memory: Memory, sources: Q) -> bool:
        rows = Message.objects.for_owner(self.owner).filter(sources).with_swipes()
        return any(memory.text in message.mes for message in rows)


@settings(
    max_examples=HISTORIES,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(done=st.lists(actions, min_size=6, max_size=14))
# A branch replaces what another chat said; its parent must keep that.
@example(done=[("branch", 0, 2), ("append", 2, HOMES[1]), ("append", 2, FACTS[1])])
# Another chat replaces what a branch has inherited.
@example(done=[("branch", 1, 2), ("append", 0, HOMES[1]), ("append", 0, FACTS[1]), ("delete", 0), ("restore", 0)])
def test_nothing_is_recalled_where_none_of_its_sources_can_be_seen(done: list[Any], connect: Any, db: None) -> None:
    owner = UserFactory()
    connect(owner)
    change_settings(owner, LONG_TERM_ONLY)
    character = make_character(owner)
    made = [make_chat(owner, character=character, title=text) for text in (FACTS[0], HOMES[0])]
    stories = Stories(owner, character, [chat.pk for chat in made])
    for chat in made:
        stories.say(chat, "Hello.", chat.title, "Good.")
    stories.settle()
    note(repr(done))
    for number, (name, *rest) in enumerate(done):
        stories.do(name, *rest)
        if number % 3 == 2:
            stories.settle()
            stories.check()
    stories.settle()
    stories.check()
