"""Whatever a client and the page do to a chat, the stored one follows both; what the client no longer sends is kept."""

import uuid
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.models import Connection
from apps.proxy.matching.aligning import align
from apps.proxy.matching.finding import is_same_chat
from apps.proxy.matching.keys import keys_of
from apps.proxy.matching.plans import ChangePlan as Plan
from apps.proxy.matching.plans import ComparedMessage as Entry
from apps.proxy.matching.plans import DroppedEnd
from apps.proxy.memory import room_for_memory
from apps.proxy.requests.turns import Turn, turns_of
from tests.durations import takes_at_most
from tests.proxy.requests import plan_changes

OWNER = uuid.uuid4()
OWN_ACTIONS = ["send", "edit", "delete", "regenerate", "swipe_back", "truncate"]
PAGE_ACTIONS = ["page_writes", "page_edits", "page_deletes", "page_hides", "leave_out_the_middle"]


def actions(names: list[str]) -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, 30)), max_size=25)


@dataclass(frozen=True)
class StoredTurn:
    """A stored message: its swipes, of which ``active`` is shown, and what the client knows of it."""

    id: uuid.UUID
    is_user: bool
    texts: tuple[str, ...]
    active: int = 0
    known: str | None = None
    is_hidden: bool = False
    is_stored: bool = True

    @property
    def shown(self) -> str:
        return self.texts[self.active]

    @property
    def entry(self) -> Entry:
        is_known = self.known is not None
        key = keys_of(OWNER, [Turn(self.is_user, self.shown if self.known is None else self.known)])[0]
        return Entry(self.id, key, is_known, self.is_hidden or not is_known, self.is_stored)


@dataclass
class Simulation:
    """A client's chat and the stored one. ``sent_from`` is the first turn that fits the client's context."""

    turns: list[Turn] = field(default_factory=list)
    swipes: list[str] = field(default_factory=list)
    stored: list[StoredTurn] = field(default_factory=list)
    sent_from: int = 0
    left_out: int = 0
    deleted: int = 0  # since the last request
    is_unsent: bool = False  # an edit or a deletion
    gone: set[str] = field(default_factory=set)  # by the page
    removed: set[str] = field(default_factory=set)  # by the client
    count: int = 0

    def text(self) -> str:
        self.count += 1
        return f"text {self.count}"

    def versions(self, text: str) -> set[str]:
        """Return the swipes of the message that the client has with a text."""
        return {text, *(swipe for message in self.stored if message.known == text for swipe in message.texts)}

    def request(self) -> None:
        """Send the turns, and take the reply in on both sides."""
        self.deleted, self.is_unsent = 0, False
        sent = self.turns[self.sent_from :]
        if self.left_out:
            sent = [*sent[:2], *sent[2 + self.left_out :]]
        plan = planned(self.stored, sent)
        self.stored = applied(plan, self.stored, sent)
        reply = self.text()
        stored = [message for message in self.stored if message.is_stored]
        place = max(place for place, message in enumerate(stored) if message.known == sent[-1].text)
        following = next((message for message in stored[place + 1 :] if not message.is_hidden), None)
        if following is None or following.is_user:
            at = self.stored.index(stored[place]) + 1
            self.stored.insert(at, StoredTurn(uuid.uuid4(), False, (reply,), known=reply))
        else:
            at = self.stored.index(following)
            texts = (*following.texts, reply)
            self.stored[at] = replace(following, texts=texts, active=len(texts) - 1, known=reply)
        self.turns.append(Turn(False, reply))
        self.swipes.append(reply)

    def page_acts(self, action: str, number: int) -> None:
        """Change the stored chat without the client's knowledge."""
        stored = [place for place, message in enumerate(self.stored) if message.is_stored]
        if not stored:
            return
        at = stored[number % len(stored)]
        message = self.stored[at]
        if action == "page_writes":
            self.stored += [StoredTurn(uuid.uuid4(), is_user, (self.text(),)) for is_user in (True, False)]
        elif action == "page_edits":
            texts = list(message.texts)
            self.gone.add(texts[message.active])
            texts[message.active] = self.text()
            self.stored[at] = replace(message, texts=tuple(texts))
        elif action == "page_hides":
            self.stored[at] = replace(message, is_hidden=True)
        elif message.known is None:
            del self.stored[at]
            self.gone |= {*message.texts}
        else:
            self.stored[at] = replace(message, is_stored=False)
            self.gone |= {*message.texts}

    def act(self, action: str, number: int) -> None:
        if action in ("truncate", "leave_out_the_middle") and self.is_unsent:
            return  # what was never sent is unknown
        self.is_unsent = self.is_unsent or action in ("edit", "delete", "swipe_back")
        sent = range(self.sent_from + 1, len(self.turns) - 1)  # the first and the last turn tell what is sent
        if action == "send" or not self.turns:
            self.turns.append(Turn(True, self.text()))
            self.swipes = []
            self.request()
        elif action.startswith("page_"):
            self.page_acts(action, number)
        elif action == "leave_out_the_middle" and len(sent) > 10 + self.left_out:
            self.left_out += 6
        elif action == "edit" and sent:
            at = sent[number % len(sent)]
            self.removed |= self.versions(self.turns[at].text)
            self.turns[at] = Turn(self.turns[at].is_user, self.text())
        elif action == "delete" and len(sent) > 4 and self.deleted < 2:  # more at once is a gap
            self.deleted += 1
            at = sent[number % (len(sent) - 2)]
            self.removed |= self.versions(self.turns[at].text)
            del self.turns[at]
        elif action == "regenerate":
            self.turns.pop()
            self.request()
        elif action == "swipe_back" and self.swipes:
            chosen = self.swipes[number % len(self.swipes)]
            if chosen not in self.versions(self.turns[-1].text):  # an edit for Loci, where it is no swipe of this one
                self.removed |= self.versions(self.turns[-1].text)
            self.turns[-1] = Turn(False, chosen)
        elif action == "truncate" and len(sent) > 6:
            self.sent_from += 2


def planned(stored: list[StoredTurn], sent: list[Turn]) -> Plan:
    entries = [message.entry for message in stored]
    plan = plan_changes(entries, sent, keys_of(OWNER, sent))
    changed = {message.id for message in stored if message.known != message.shown} & set(plan.deletions)
    entries = [replace(entry, is_fixed=True) if entry.id in changed else entry for entry in entries]
    return plan_changes(entries, sent, keys_of(OWNER, sent)) if changed else plan


def applied(plan: Plan, stored: list[StoredTurn], sent: list[Turn]) -> list[StoredTurn]:
    """Return the stored turns after a plan, with what the client knows of them."""
    edits = {entry.id: (entry, turn) for entry, turn in plan.edits}
    keys = keys_of(OWNER, sent)
    knows = dict(plan.known)
    by_key = dict(zip(keys, sent, strict=True))
    result = []
    for message in stored:
        result += [stored_turn(turn) for before, turn in plan.insertions if before == message.id]
        if message.id in plan.deletions or (not message.is_stored and message.id not in knows):
            continue
        if message.id in edits:
            message = edited(message, *edits[message.id])
        if message.id in knows and knows[message.id] in by_key:
            message = replace(message, known=by_key[knows[message.id]].text)
        result.append(message)
    return result + [stored_turn(turn) for turn in plan.appended]


def edited(message: StoredTurn, entry: Entry, turn: Turn) -> StoredTurn:
    if turn.text in message.texts:
        return replace(message, active=message.texts.index(turn.text))
    if keys_of(OWNER, [Turn(message.is_user, message.shown)])[0] != entry.key:
        return replace(message, texts=(*message.texts, turn.text), active=len(message.texts))
    texts = list(message.texts)
    texts[message.active] = turn.text
    return replace(message, texts=tuple(texts))


def stored_turn(turn: Turn) -> StoredTurn:
    return StoredTurn(uuid.uuid4(), turn.is_user, (turn.text,), known=turn.text)


def stored_chat(*texts: str) -> list[StoredTurn]:
    return [StoredTurn(uuid.uuid4(), number % 2 == 0, (text,), known=text) for number, text in enumerate(texts)]


def turns(*texts: str) -> list[Turn]:
    return [Turn(number % 2 == 0, text) for number, text in enumerate(texts)]


def shown(simulation: Simulation) -> list[str]:
    return [message.shown for message in simulation.stored if message.is_stored]


@given(actions([*OWN_ACTIONS, *PAGE_ACTIONS]))
def test_nothing_that_the_client_or_the_page_wrote_is_lost_or_stands_twice(taken: list[tuple[str, int]]) -> None:
    simulation = Simulation()
    written: set[str] = set()
    for action, number in taken:
        if not simulation.turns:
            action = "send"
        kept = {text for message in simulation.stored if message.is_stored for text in message.texts}
        simulation.act(action, number)
        now = {text for message in simulation.stored if message.is_stored for text in message.texts}
        if not action.startswith("page_") and action in ("send", "leave_out_the_middle", "truncate"):
            # Only what the client has edited or deleted since its last request may be gone.
            written |= {text for text in kept - now if text not in simulation.removed}
    simulation.act("send", 0)
    texts = shown(simulation)
    assert len(set(texts)) == len(texts)
    assert not written
    assert {turn.text for turn in simulation.turns} - simulation.gone <= {
        text for message in simulation.stored for text in message.texts
    }


@given(actions(OWN_ACTIONS))
def test_the_stored_chat_equals_the_clients_own_after_any_actions(taken: list[tuple[str, int]]) -> None:
    simulation = Simulation()
    for action, number in taken:
        simulation.act(action, number)
    simulation.act("send", 0)
    assert shown(simulation) == [turn.text for turn in simulation.turns]


def test_a_repeated_request_changes_nothing() -> None:
    stored = stored_chat("one", "two", "three")
    plan = planned(stored, turns("one", "two", "three"))
    assert (plan.edits, plan.deletions, plan.appended) == ((), (), ())
    assert plan.anchor == stored[2].id


def test_a_beginning_that_is_no_longer_sent_is_kept() -> None:
    plan = planned(stored_chat("one", "two", "three", "four"), turns("three", "four", "five"))
    assert plan.deletions == ()
    assert [turn.text for turn in plan.appended] == ["five"]


def test_a_regenerated_reply_keeps_the_old_one_as_a_swipe() -> None:
    stored = stored_chat("one", "two", "three", "four")
    plan = planned(stored, turns("one", "two", "three"))
    assert plan.deletions == ()
    assert plan.anchor == stored[2].id


def test_white_space_that_a_client_trims_is_no_edit() -> None:
    assert planned(stored_chat("one", " two\r\n\r\nlines "), turns("one", "two\n\nlines", "x")).edits == ()


def test_a_greeting_alone_does_not_identify_a_chat() -> None:
    stored = [StoredTurn(uuid.uuid4(), False, ("Hello!",), known="Hello!"), *stored_chat("Who are you?", "Mira.")]
    sent = [Turn(False, "Hello!"), Turn(True, "Where am I?")]
    assert not is_same_chat(sent, planned(stored, sent), same_opening=True)


def test_one_equal_user_message_identifies_a_chat_only_with_the_same_system_prompt() -> None:
    stored, sent = stored_chat("Hi", "Hello."), turns("Hi")
    plan = planned(stored, sent)
    assert is_same_chat(sent, plan, same_opening=True)
    assert not is_same_chat(sent, plan, same_opening=False)


@pytest.mark.parametrize("turn", [2, 3, 4])
def test_a_turn_that_is_rewritten_early_in_a_long_chat_is_of_that_chat(turn: int) -> None:
    stored = stored_chat(*(text for n in range(8) for text in (f"Question number {n}?", f"Answer {n}.")))
    sent = turns(*[text.shown for text in stored[: 2 * turn]], "Let us talk about something else.")
    plan = planned(stored, sent)
    assert is_same_chat(sent, plan, same_opening=True)
    assert plan.dropped_end.user_messages >= 2  # so that a branch is made


def test_a_rewritten_turn_deletes_no_exchange_before_the_one_whose_text_it_is_like() -> None:
    said = ["One apple tart.", "Good.", "Two pears.", "Fine.", "Three figs.", "Nice.", "Four plums.", "Well."]
    stored = stored_chat(*said)
    sent = turns("One apple tart.", "Good.", "Four plum tarts.")
    texts = {turn.id: turn.shown for turn in stored}
    entries = [turn.entry for turn in stored]
    plan = plan_changes(entries, sent, keys_of(OWNER, sent), texts=lambda ids: texts)
    assert [entry.id for entry, _ in plan.edits] == [stored[2].id]
    assert plan.dropped_end.user_messages == 2


def test_a_chat_with_one_equal_turn_is_not_continued_from_there() -> None:
    stored = stored_chat("Hi", "Hello! How can I help?", "What is a quark?", "A particle.", "And a lepton?", "Another.")
    sent = turns("Hi", "Hello! How can I help?", "Write a poem.")
    assert not is_same_chat(sent, planned(stored, sent), same_opening=True)


def test_the_plan_of_the_packages_example() -> None:
    said = ["Hello?", "Who is there?", "A friend.", "Which one?", "It is Mira.", "Come in.\nSit down."]
    stored = stored_chat(*said)
    sent = turns("Hello?", "Who is it?", "It is Mira.", "Come in. Sit down.", "Is it late?")
    m1, m2, m3, m4, m5, m6 = (message.id for message in stored)
    keys = keys_of(OWNER, sent)
    assert planned(stored, sent) == Plan(
        matched=((0, 0), (4, 2), (5, 3)),
        edits=((stored[1].entry, sent[1]),),
        respaced=((stored[5].entry, sent[3]),),
        deletions=(m3, m4),
        dropped_end=DroppedEnd(0, 0, m6),
        appended=(sent[4],),
        anchor=None,
        known=tuple(zip([m1, m2, m5, m6, None], keys, strict=True)),
    )
    plan = planned(stored, turns(*said[:3]))
    assert [pk for pk, _ in plan.known] == [m1, m2, m3, m4]
    assert (plan.anchor, plan.deletions, plan.dropped_end) == (m3, (m5, m6), DroppedEnd(1, 2, m4))


def test_turns_dropped_from_the_end_are_counted() -> None:
    assert planned(stored_chat("a", "b", "c", "d", "e", "f"), turns("a", "b", "c")).dropped_end.user_messages == 1


def test_calls_of_tools_and_their_results_are_one_turn_with_the_reply() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
    read = turns_of(
        [
            {"role": "user", "content": "Roll."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "6"},
            {"role": "assistant", "content": "A six!"},
        ]
    )
    assert read == [Turn(True, "Roll."), Turn(False, "A six!", ({**call, "result": "6"},))]


def call_of(number: int) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": "roll", "arguments": "{}"}}


def test_results_of_tools_come_in_any_order_and_texts_in_between() -> None:
    read = turns_of(
        [
            {"role": "assistant", "content": "Two dice.", "tool_calls": [call_of(1), call_of(2)]},
            {"role": "tool", "tool_call_id": "c2", "content": "2"},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
            {"role": "tool", "tool_call_id": "c9", "content": "of no call"},
            {"role": "assistant", "content": "", "function_call": {"name": "roll"}},
            {"role": "function", "name": "roll", "content": "3"},
            {"role": "assistant", "content": "Six."},
            {"role": "assistant", "content": "Another turn."},
        ]
    )
    calls = (
        {**call_of(1), "result": "1"},
        {**call_of(2), "result": "2"},
        {"function": {"name": "roll"}, "result": "3"},
    )
    assert read == [Turn(False, "Two dice.\n\nSix.", calls), Turn(False, "Another turn.")]


def test_a_turn_with_thousands_of_calls_is_read_in_less_than_a_second() -> None:
    messages: list[dict[str, Any]] = []
    for number in range(5000):
        messages.append({"role": "assistant", "content": "Again. " * 50, "tool_calls": [call_of(number)]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "6"})
    with takes_at_most(1):
        [turn] = turns_of(messages)
    assert len(turn.tools) == 5000


def test_what_a_model_has_no_room_for_is_not_counted() -> None:
    """A client may send megabytes to a model that reads a few thousand tokens."""
    connection = Connection(model="gpt-4o", context_tokens=8000)
    messages = [{"role": "user", "content": f"{number}: " + "the silver key, " * 130} for number in range(30_000)]
    assert room_for_memory(connection, {"messages": messages[:3]}) > 6000
    with takes_at_most(0.5):
        assert room_for_memory(connection, {"messages": messages}) == 0


@given(st.lists(st.integers(0, 4), max_size=12), st.lists(st.integers(0, 4), max_size=12))
def test_aligned_items_are_equal_and_in_order(old: list[int], new: list[int]) -> None:
    pairs = align(old, new)
    assert all(old[place] == new[number] for place, number in pairs)
    assert all(first[0] < second[0] and first[1] < second[1] for first, second in pairwise(pairs))


@pytest.mark.parametrize("sent_from", [0, 1000])
def test_thousands_of_equal_turns_are_compared_in_less_than_a_second(sent_from: int) -> None:
    old = [number % 2 for number in range(10_000)]
    new = [item for number, item in enumerate(old) for item in ([item, 10 + number] if number % 7 == 6 else [item])]
    with takes_at_most(1):
        align(old, new[sent_from:])


def test_a_trimmed_history_of_equal_turns_is_aligned_at_the_end() -> None:
    assert align([1, 0] * 10, [1, 0] * 4 + [2]) == [(12 + step, step) for step in range(8)]
