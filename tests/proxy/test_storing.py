"""What a request makes of the stored chat, by the operations themselves."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import delete_chat
from apps.llm.models import Connection
from apps.proxy.calls import base_url
from apps.proxy.conversation import Turn
from apps.proxy.operations import StoredRequest, store_reply, store_request
from apps.proxy.replies import CollectedReply, collected_reply
from tests.factories import UserFactory, make_character
from tests.proxy.conftest import texts_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory()


def sent(owner: User, *texts: str, opening: str = "", **options: Any) -> StoredRequest:
    turns = [Turn(number % 2 == 0, text) for number, text in enumerate(texts)]
    return store_request(owner, turns, opening=opening, **options)


def exchanged(owner: User, *texts: str, **options: Any) -> Chat:
    """Send the texts but the last one, and store that as the reply."""
    stored = sent(owner, *texts[:-1], **options)
    store_reply(owner, stored.chat.pk, stored.anchor, CollectedReply(texts[-1]))
    return stored.chat


def test_edits_and_deletions_in_between_are_followed(alice: User) -> None:
    exchanged(alice, "a", "b")
    exchanged(alice, "a", "b", "c", "d")
    exchanged(alice, "a", "B", "c", "d", "e", "f")
    assert texts_of(alice) == [["a", "B", "c", "d", "e", "f"]]
    exchanged(alice, "a", "B", "e", "f", "g", "h")
    assert texts_of(alice) == [["a", "B", "e", "f", "g", "h"]]


def test_a_truncated_beginning_finds_its_chat_and_keeps_it(alice: User) -> None:
    texts = [f"text {number}" for number in range(20)]
    chats = {exchanged(alice, *texts[:end]).pk for end in range(2, 21, 2)}
    chats.add(sent(alice, *texts[10:], "more").chat.pk)
    assert len(chats) == 1
    assert texts_of(alice) == [[*texts, "more"]]


def test_another_user_with_the_same_words_gets_a_chat_of_their_own(alice: User) -> None:
    bob = UserFactory()
    first = exchanged(alice, "a", "b")
    second = sent(bob, "a", "b", "c").chat
    assert first.pk != second.pk
    assert (texts_of(alice), texts_of(bob)) == ([["a", "b"]], [["a", "b", "c"]])


def test_equal_first_words_under_another_system_prompt_begin_another_chat(alice: User) -> None:
    exchanged(alice, "Hi", "I am Mira.", opening="You are Mira.")
    exchanged(alice, "Hi", "I am Tom.", opening="You are Tom.")
    assert texts_of(alice) == [["Hi", "I am Mira."], ["Hi", "I am Tom."]]


def test_a_conversation_with_some_words_in_common_leaves_the_other_as_it_is(alice: User) -> None:
    first = exchanged(alice, "Hello", "Hi there.", "Tell me a story.", "Once there was a well.")
    second = exchanged(alice, "Hello", "Good evening.", "Continue", "With what?")
    exchanged(alice, "Hello", "Hi there.", "Tell me a story.", "Once there was a well.", "Continue", "It was dry.")
    assert first.pk != second.pk
    assert texts_of(alice) == [
        ["Hello", "Hi there.", "Tell me a story.", "Once there was a well.", "Continue", "It was dry."],
        ["Hello", "Good evening.", "Continue", "With what?"],
    ]


def test_a_chat_in_the_bin_is_not_continued(alice: User) -> None:
    delete_chat(exchanged(alice, "a", "b"))
    sent(alice, "a", "b", "c")
    assert texts_of(alice) == [["a", "b", "c"]]


def test_a_new_chat_has_the_title_and_the_name_of_its_character(alice: User) -> None:
    chat = exchanged(alice, "a", "b", character=make_character(alice, "Mira"))
    assert chat.title == "Mira"
    assert Message.objects.for_owner(alice).get(index=1).name == "Mira"
    assert exchanged(alice, "Where is the old lighthouse?", "There.").title == "Where is the old lighthouse?"


def test_a_reply_that_comes_after_the_next_turn_stands_before_it(alice: User) -> None:
    first = sent(alice, "a")
    store_request(alice, [Turn(True, "a"), Turn(True, "c")], opening="", named=first.chat.pk)
    store_reply(alice, first.chat.pk, first.anchor, CollectedReply("b"))
    assert texts_of(alice) == [["a", "b", "c"]]


def test_a_reply_to_a_turn_that_was_deleted_is_dropped(alice: User) -> None:
    stored = sent(alice, "a")
    Message.objects.for_owner(alice).filter(pk=stored.anchor).delete()
    store_reply(alice, stored.chat.pk, stored.anchor, CollectedReply("b"))
    assert texts_of(alice) == [[]]


def test_the_same_reply_twice_is_stored_once(alice: User) -> None:
    exchanged(alice, "a", "b")
    exchanged(alice, "a", "b")
    assert Message.objects.for_owner(alice).get(index=1).swipes.count() == 1


def test_a_continued_reply_grows(alice: User) -> None:
    exchanged(alice, "a", "Once upon")
    stored = sent(alice, "a", "Once upon")
    store_reply(alice, stored.chat.pk, stored.anchor, CollectedReply(" a time"))
    assert texts_of(alice) == [["a", "Once upon a time"]]


@pytest.mark.parametrize(
    "body", [b"", b"data: {", b"<html>", b'{"choices": 5}', b'{"choices": [{"message": 5}]}', b"\xff"]
)
def test_a_malformed_reply_is_an_empty_partial_one(body: bytes) -> None:
    assert collected_reply(body) == CollectedReply("", is_partial=True)


def test_calls_of_tools_are_collected_from_their_pieces() -> None:
    def event(call: str) -> bytes:
        return b'data: {"choices":[{"index":0,"delta":{"tool_calls":[' + call.encode() + b"]}}]}\n\n"

    body = event('{"index":0,"id":"c1","function":{"name":"roll","arguments":"{\\"a\\""}}')
    body += event('{"index":0,"function":{"arguments":":1}"}}')
    assert collected_reply(body).tools == ({"id": "c1", "name": "roll", "arguments": '{"a":1}'},)


def test_ollama_is_called_by_its_openai_compatible_api() -> None:
    assert base_url(Connection(backend="ollama", base_url="http://localhost:11434/api")) == "http://localhost:11434/v1"
    assert base_url(Connection(backend="openai", base_url="http://localhost:1234")) == "http://localhost:1234/v1"
