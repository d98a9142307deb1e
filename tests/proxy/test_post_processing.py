"""A chat of SillyTavern through the proxy, in each mode of its prompt post-processing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from openai import OpenAI

from apps.accounts.models import User
from apps.chats.models import Message
from tests.lanes import paired
from tests.llm.scripted_server import ScriptedServer
from tests.proxy.conftest import texts_of

PROMPT = "Write Ada's next reply in a fictional chat between Ada and Ben.\n\nAda keeps the lock at Saale."
GREETING = "*Ada leans on the gate.* Who goes there?"
SAID = [
    "Good morning, is the lock open?",
    "When does it open?\n\nI have to be in Halle by noon.",
    "Do you live here?",
    "What happened to your boat?",
    "May I help you with it?",
]
REPLIES = ["Not before eight.", "At eight, as I said.", "In the red house.", "It sank.", "Bring a rope, then."]
DEPTH_NOTE = "[Tone: dry, few words.]"  # inserted before the last messages
PLAIN_NOTE = "Keep the river in the scene."
LAST = "Never speak for Ben."
START = "[Start a new Chat]"
MODES = ["merge", "semi", "strict", "single"]


@dataclass(frozen=True)
class Line:
    role: str
    text: str
    name: str = ""


def lines_of(turn: int, depth: int, note: str, *, greeting: bool = True) -> list[Line]:
    """Return the prompt of a turn before it is processed: ``note`` stands before the last ``depth`` messages."""
    chat = [Line("assistant", GREETING, "Ada")] if greeting else []
    for number in range(turn + 1):
        chat.append(Line("user", SAID[number], "Ben"))
        chat += [Line("assistant", REPLIES[number], "Ada")] if number < turn else []
    at = max(len(chat) - depth, 0)
    return [
        Line("system", PROMPT),
        Line("system", START),
        *chat[:at],
        Line("system", note),
        *chat[at:],
        Line("system", LAST),
    ]


def processed(lines: Sequence[Line], mode: str) -> list[dict[str, str]]:
    """Return the messages as SillyTavern sends them in a mode."""
    if mode == "single":
        lines = [Line("user", f"{line.name}: {line.text}" if line.name else line.text) for line in lines]
    merged = _merged([{"role": line.role, "content": line.text} for line in lines])
    if mode in ("semi", "strict"):
        for message in merged[1:]:
            message["role"] = "user" if message["role"] == "system" else message["role"]
        if mode == "strict" and merged[1]["role"] == "assistant":
            merged.insert(1, {"role": "user", "content": "Let's get started."})
        merged = _merged(merged)
    return merged


def _merged(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    merged: list[dict[str, str]] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += "\n\n" + message["content"]
        else:
            merged.append(dict(message))
    return merged


@pytest.mark.parametrize(
    ("mode", "begins"),
    paired(MODES, [(4, DEPTH_NOTE, True), (1, PLAIN_NOTE, True), (0, PLAIN_NOTE, False), (3, PLAIN_NOTE, False)]),
)
def test_one_chat_has_what_was_said_and_no_instructions(
    client: OpenAI, alice: User, upstream: ScriptedServer, mode: str, begins: tuple[int, str, bool]
) -> None:
    depth, note, greeting = begins
    beginning = [GREETING] if greeting else []
    for turn, reply in enumerate(REPLIES):
        upstream.reply_with(reply)
        messages: Any = processed(lines_of(turn, depth, note, greeting=greeting), mode)
        client.chat.completions.create(model="x", messages=messages)
        chats = texts_of(alice)
        assert len(chats) == 1
        if turn:  # one request alone doesn't show what in it is an instruction
            said = [text for pair in zip(SAID[: turn + 1], REPLIES, strict=False) for text in pair]
            assert chats[0][:-2] == [*beginning, *said][:-2]
            assert LAST not in "".join(chats[0])
    said = [text for pair in zip(SAID, REPLIES, strict=True) for text in pair]
    assert texts_of(alice) == [[*beginning, *said]]
    assert [message["content"] for message in upstream.requests[-1].messages if message in messages] == [
        message["content"] for message in messages
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_reply_that_is_asked_for_again_is_a_swipe(
    client: OpenAI, alice: User, upstream: ScriptedServer, mode: str
) -> None:
    for turn in (0, 1):
        for reply in (f"Another {turn}.", REPLIES[turn]):
            upstream.reply_with(reply)
            messages: Any = processed(lines_of(turn, 2, PLAIN_NOTE), mode)
            client.chat.completions.create(model="x", messages=messages)
    assert texts_of(alice) == [[GREETING, SAID[0], REPLIES[0], SAID[1], REPLIES[1]]]
    last = Message.objects.for_owner(alice).order_by("index").last()
    assert last is not None
    assert [swipe.mes for swipe in last.ordered_swipes] == ["Another 1.", REPLIES[1]]


@pytest.mark.parametrize("user", ["Dr. Weil", "J. R. Ewing", "Max and Moritz", "user:1", "- B -"])
def test_a_name_may_have_any_characters(client: OpenAI, alice: User, upstream: ScriptedServer, user: str) -> None:
    for turn, reply in enumerate(REPLIES[:3]):
        upstream.reply_with(reply)
        [message] = processed(lines_of(turn, 0, PLAIN_NOTE), "single")
        text = message["content"].replace("Ada and Ben.", f"Ada and {user}. Be brief.").replace("Ben: ", f"{user}: ")
        client.chat.completions.create(model="x", messages=[{"role": "user", "content": text}])
    said = [text for pair in zip(SAID, REPLIES[:3], strict=False) for text in pair]
    assert texts_of(alice) == [[GREETING, *said]]
    rows = Message.objects.for_owner(alice).order_by("index")
    assert [(row.is_user, row.name) for row in rows] == [(False, "Ada"), *[(True, user), (False, "Ada")] * 3]


def test_who_really_says_that_it_shall_start_is_heard(client: OpenAI, alice: User) -> None:
    first: list[Any] = [
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "content": "Let's get started."},
    ]
    client.chat.completions.create(model="x", messages=first)
    more: list[Any] = [*first, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "What now?"}]
    client.chat.completions.create(model="x", messages=more)
    assert texts_of(alice) == [["Let's get started.", "Hello.", "What now?", "Hello."]]


def test_paragraphs_that_a_person_deletes_or_repeats_are_their_own(client: OpenAI, alice: User) -> None:
    def ask(*texts: str) -> None:
        messages: list[Any] = [
            {"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(texts)
        ]
        client.chat.completions.create(model="x", messages=messages)

    ask("Tell me of the lock.\n\nPlease.")
    ask("Tell me of the lock.\n\nPlease.", "Hello.", "And of the river.\n\nPlease.")
    assert texts_of(alice)[0][::2] == ["Tell me of the lock.\n\nPlease.", "And of the river.\n\nPlease."]
    ask("Tell me of the lock.", "Hello.", "And of the river.\n\nPlease.", "Hello.", "Thanks.")
    assert texts_of(alice) == [
        ["Tell me of the lock.", "Hello.", "And of the river.\n\nPlease.", "Hello.", "Thanks.", "Hello."]
    ]


def test_a_pasted_conversation_is_what_a_person_said(client: OpenAI, alice: User) -> None:
    pasted = "What do you think of this?\n\nAda: Not before eight.\n\nBen: When does it open?"
    client.chat.completions.create(model="x", messages=[{"role": "user", "content": pasted}])
    assert texts_of(alice) == [[pasted, "Hello."]]
