"""Whatever a client does to its chat, the stored one follows; what it no longer sends is kept."""

import uuid
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from apps.proxy.conversation import Turn, turns_of
from apps.proxy.matching import Plan, StoredTurn, is_same_chat, plan_changes

ACTIONS = st.lists(
    st.tuples(st.sampled_from(["send", "edit", "delete", "regenerate", "swipe_back", "truncate"]), st.integers(0, 30)),
    max_size=25,
)


@dataclass
class Simulation:
    """A client's chat and the stored one. ``sent_from`` is the first turn that fits the client's context."""

    turns: list[Turn] = field(default_factory=list)
    swipes: list[str] = field(default_factory=list)
    stored: list[StoredTurn] = field(default_factory=list)
    sent_from: int = 0
    count: int = 0

    def text(self) -> str:
        self.count += 1
        return f"text {self.count}"

    def request(self) -> None:
        """Send the turns, and take the reply in on both sides."""
        plan = plan_changes(self.stored, self.turns[self.sent_from :])
        self.stored = applied(plan, self.stored)
        reply = self.text()
        if self.stored[-1].is_user:
            self.stored.append(StoredTurn(uuid.uuid4(), False, (reply,)))
        else:
            last = self.stored[-1]
            self.stored[-1] = replace(last, texts=(*last.texts, reply), active=len(last.texts))
        self.turns.append(Turn(False, reply))
        self.swipes.append(reply)

    def act(self, action: str, number: int) -> None:
        sent = range(self.sent_from + 1, len(self.turns) - 1)  # the first and the last turn tell what is sent
        if action == "send" or not self.turns:
            self.turns.append(Turn(True, self.text()))
            self.swipes = []
            self.request()
        elif action == "edit" and sent:
            at = sent[number % len(sent)]
            self.turns[at] = Turn(self.turns[at].is_user, self.text())
        elif action == "delete" and len(sent) > 4:
            del self.turns[sent[number % (len(sent) - 2)]]
        elif action == "regenerate":
            self.turns.pop()
            self.request()
        elif action == "swipe_back" and self.swipes:
            self.turns[-1] = Turn(False, self.swipes[number % len(self.swipes)])
        elif action == "truncate" and len(sent) > 6:
            self.sent_from += 2


def applied(plan: Plan, stored: list[StoredTurn]) -> list[StoredTurn]:
    """Return the stored turns after a plan."""
    result = []
    for message in stored:
        result += [stored_turn(turn) for before, turn in plan.insertions if before == message.id]
        if message.id in plan.deletions:
            continue
        texts = list(message.texts)
        texts[message.active] = plan.edits.get(message.id, texts[message.active])
        active = plan.selections.get(message.id, message.active)
        result.append(replace(message, texts=tuple(texts), active=active))
    return result + [stored_turn(turn) for turn in plan.appended]


def stored_turn(turn: Turn) -> StoredTurn:
    return StoredTurn(uuid.uuid4(), turn.is_user, (turn.text,))


def stored_chat(*texts: str) -> list[StoredTurn]:
    return [StoredTurn(uuid.uuid4(), number % 2 == 0, (text,)) for number, text in enumerate(texts)]


def turns(*texts: str) -> list[Turn]:
    return [Turn(number % 2 == 0, text) for number, text in enumerate(texts)]


@given(ACTIONS)
def test_the_stored_chat_equals_the_clients_own_after_any_actions(actions: list[tuple[str, int]]) -> None:
    simulation = Simulation()
    for action, number in actions:
        simulation.act(action, number)
    simulation.act("send", 0)
    shown = [(message.is_user, message.texts[message.active]) for message in simulation.stored]
    assert shown == [(turn.is_user, turn.text) for turn in simulation.turns]


def test_a_repeated_request_changes_nothing() -> None:
    stored = stored_chat("one", "two", "three")
    plan = plan_changes(stored, turns("one", "two", "three"))
    assert (plan.edits, plan.deletions, plan.appended) == ({}, [], [])
    assert plan.anchor == stored[2].id


def test_a_beginning_that_is_no_longer_sent_is_kept() -> None:
    plan = plan_changes(stored_chat("one", "two", "three", "four"), turns("three", "four", "five"))
    assert plan.deletions == []
    assert [turn.text for turn in plan.appended] == ["five"]


def test_a_regenerated_reply_keeps_the_old_one_as_a_swipe() -> None:
    stored = stored_chat("one", "two", "three", "four")
    plan = plan_changes(stored, turns("one", "two", "three"))
    assert plan.deletions == []
    assert plan.anchor == stored[2].id


def test_white_space_that_a_client_trims_is_no_edit() -> None:
    assert plan_changes(stored_chat("one", " two\r\n\r\nlines "), turns("one", "two\n\nlines", "x")).edits == {}


def test_a_greeting_alone_does_not_identify_a_chat() -> None:
    stored = [StoredTurn(uuid.uuid4(), False, ("Hello!",)), *stored_chat("Who are you?", "Mira.")]
    sent = [Turn(False, "Hello!"), Turn(True, "Where am I?")]
    assert not is_same_chat(sent, plan_changes(stored, sent), same_opening=True)


def test_one_equal_user_message_identifies_a_chat_only_with_the_same_system_prompt() -> None:
    stored, sent = stored_chat("Hi", "Hello."), turns("Hi")
    plan = plan_changes(stored, sent)
    assert is_same_chat(sent, plan, same_opening=True)
    assert not is_same_chat(sent, plan, same_opening=False)


def test_turns_dropped_from_the_end_are_counted() -> None:
    assert plan_changes(stored_chat("a", "b", "c", "d", "e", "f"), turns("a", "b", "c")).cut == 1


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
