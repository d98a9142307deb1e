"""A group of SillyTavern through the proxy, by how it processes prompts and tells names."""

from typing import Any

import pytest
from django.test import RequestFactory

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Chat, Message
from apps.llm.operations import create_connection, use_for
from apps.proxy.collected_replies import CollectedReply
from apps.proxy.preparing import prepare_call
from apps.proxy.upstream.calls import finish_call
from tests.factories import UserFactory
from tests.lanes import sampled
from tests.proxy.sillytavern import MEMBERS, USER, GroupChat

MIRA, JORG = MEMBERS
pytestmark = pytest.mark.django_db
LAST = "Never speak for Anna. Mira and Old Jörg may argue."


def stored(owner: User) -> list[list[tuple[str, str]]]:
    """Return who said what, of each chat."""
    return [
        [(m.name, m.mes) for m in Message.objects.for_owner(owner).filter(chat=chat).with_swipes().order_by("index")]
        for chat in Chat.objects.for_owner(owner).order_by("pk")
    ]


class Talk:
    """What a person does in SillyTavern, told to the proxy. ``states`` are those of the memory."""

    def __init__(self, owner: User, chat: GroupChat) -> None:
        self.chat = chat
        self.states: set[str] = set()
        self._count = 0
        self._headers = {"Authorization": f"Bearer {create_token(owner, name='SillyTavern')[1]}"}
        url = "http://127.0.0.1:9/v1"  # it is not called
        use_for(create_connection(owner, name="A", backend="openai", base_url=url, model="m"), generation=True)

    def say(self, text: str) -> None:
        """Say something, to which each member replies."""
        self.chat.said.append((USER, text))
        for name in MEMBERS:
            self.reply(name)

    def reply(self, name: str) -> None:
        """Have a member reply."""
        self._count += 1
        text = f"Reply {self._count}, says {name}.\n\nIt has a second paragraph."
        self.states.add(self.call(self.chat.prompt(name), text))
        self.chat.said.append((name, text))

    def call(self, messages: list[Any], reply: str) -> str:
        """Send a request, receive a reply, and return the state of the memory."""
        body = {"model": "m", "messages": messages}
        factory = RequestFactory(headers=self._headers)
        call = prepare_call(factory.post("/v1/chat/completions", body, content_type="application/json"))
        finish_call(call, CollectedReply(reply))
        return call.memory


@pytest.mark.parametrize(
    ("mode", "names", "last"),
    sampled(
        [
            ("", "default", LAST),
            ("merge", "none", LAST),
            ("merge_tools", "completion", ""),
            ("semi", "default", LAST),
            ("semi_tools", "none", ""),
            ("strict", "content", LAST),
            ("single", "completion", LAST),
        ],
        4,
    ),
)
def test_a_group_is_one_chat_whose_messages_have_their_speakers(mode: str, names: str, last: str) -> None:
    """After a swipe, edits, a regeneration, and a member who speaks twice."""
    alice = UserFactory()
    chat = GroupChat(mode, names, last=last)
    talk = Talk(alice, chat)
    talk.say("I wake up.")
    talk.say("Who are you?")
    chat.said.pop()
    talk.reply(JORG)
    chat.said[2:4] = [(USER, "I woke up in a boat."), (MIRA, "You did.")]
    talk.say("Where does the key fit?")
    del chat.said[-2:]
    for name in (MIRA, JORG, JORG):
        talk.reply(name)
    talk.say("Good night.")
    assert talk.states == {"on"}
    first = len(MEMBERS) if names == "none" else 0  # whose greetings these are, no prompt tells
    chats = stored(alice)
    assert len(chats) == 1
    assert [text for _, text in chats[0]] == [text for _, text in chat.said]
    assert chats[0][first:] == chat.said[first:]
    swiped = Message.objects.for_owner(alice).get(index=7)
    assert [swipe.mes.split(",")[0] for swipe in swiped.ordered_swipes] == ["Reply 4", "Reply 5"]


def test_a_quiet_prompt_behind_post_history_instructions_is_no_turn() -> None:
    alice = UserFactory()
    chat = GroupChat(last=LAST)
    talk = Talk(alice, chat)
    talk.say("I wake up.")
    talk.call([*chat.prompt(MIRA), {"role": "system", "content": "Tell in three words where they are."}], "A boat.")
    assert stored(alice) == [chat.said]
