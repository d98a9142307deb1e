"""What a client sends itself is not added again."""

from collections.abc import Callable
from typing import Any

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.search.indexing import index_messages
from tests.factories import make_character, make_chat, make_memory
from tests.llm.scripted_server import ScriptedServer

Ask = Callable[..., Any]
SECRET = "My brother's name is Bartholomew and he keeps the silver key under the blue stone."


def test_a_message_that_the_client_sends_is_not_quoted_too(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    talk = [text for number in range(15) for text in (f"We walk on for mile {number}.", f"Yes, {number}.")]
    history = ["Hello.", SECRET, *talk]
    ask(*history, "Shall we rest?")
    chat = Chat.objects.for_owner(alice).get()
    index_messages(alice, chat)
    question = "Where is the silver key of the brother kept?"
    ask(*history, "Shall we rest?", "Hello.", question)
    assert str(upstream.of_kind("generation")[-1].messages).count("under the blue stone") == 1
    ask(*history[2:], "Shall we rest?", "Hello.", question)
    assert str(upstream.of_kind("generation")[-1].messages).count("under the blue stone") == 1


def test_a_macro_in_two_system_messages_is_replaced_in_the_first(
    ask: Ask, alice: User, upstream: ScriptedServer, client: Any
) -> None:
    make_memory(
        make_chat(alice, "Hi", "Hello", character=make_character(alice, "Mira")), "The silver key opens the lighthouse."
    )
    parts = [{"type": "text", "text": "You are Mira."}, {"type": "text", "text": "A: {{smartmemory-longterm}}"}]
    client.chat.completions.create(
        model="loci",
        messages=[
            {"role": "system", "content": parts},
            {"role": "user", "content": "Where does the silver key fit?"},
            {"role": "system", "content": "B: {{smartmemory-longterm}} {{other}}"},
        ],
    )
    sent = upstream.of_kind("generation")[-1].messages
    assert str(sent).count("The silver key opens the lighthouse.") == 1
    assert "lighthouse" in sent[0]["content"][1]["text"]
    assert sent[-1]["content"] == "B:  {{other}}"
