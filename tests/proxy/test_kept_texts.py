"""No text of a conversation is lost or doubled by what clients do."""

import pytest

from apps.proxy.collected_replies import CollectedReply
from apps.proxy.operations.replies import store_reply
from apps.proxy.requests.headers import character_of
from apps.proxy.requests.turns import opening_of
from tests.factories import UserFactory, make_character
from tests.proxy.conftest import texts_of
from tests.proxy.test_storing import exchanged, replied, sent, swipes_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice():
    return UserFactory()


def test_a_stopped_reply_stays_when_another_is_asked_for(alice):
    stored = sent(alice, "Tell me.")
    store_reply(stored, CollectedReply("A long and good beginning, which the user stopped", is_partial=True))
    replied(sent(alice, "Tell me."), "Another reply.")
    # SillyTavern has both as swipes; the user goes back to the first one and goes on
    exchanged(alice, "Tell me.", "A long and good beginning, which the user stopped", "Go on.", "Yes.")
    assert "Another reply." in swipes_of(alice)
    assert "A long and good beginning, which the user stopped" in swipes_of(alice)


def test_the_named_chat_of_a_client_that_sends_one_line_loses_no_exchange(alice):
    chat = exchanged(alice, "Go on.", "He opens the door.")
    exchanged(alice, "Who is inside?", "The king.", named=chat.pk)
    exchanged(alice, "Go on.", "The king rises.", named=chat.pk)
    assert "Who is inside?" in str(texts_of(alice)[0])
    assert "The king." in str(texts_of(alice)[0])


def test_another_name_in_the_system_prompt_splits_no_chat(alice):
    make_character(alice, "Mira")
    make_character(alice, "Tom")

    def at(opening, *texts):
        messages = [{"role": "system", "content": opening}]
        return exchanged(alice, *texts, opening=opening, character=character_of(alice, {}, opening_of(messages)))

    card = "You are Mira. Mira guards the well."
    at(card, "a", "b")
    at(card, "a", "b", "c", "d")
    at(card, "a", "b", "c", "d", "e", "f")
    at(
        card + " Tom is a thief. Tom hates Mira's father. Tom and Tom's dog live here.",
        "a",
        "b",
        "c",
        "d",
        "e",
        "f",
        "What of Tom?",
        "h",
    )
    assert texts_of(alice) == [["a", "b", "c", "d", "e", "f", "What of Tom?", "h"]]


def test_a_stream_that_ends_by_done_without_a_finish_reason_is_whole():
    from apps.proxy.collected_replies import collected_reply

    body = b'data: {"choices":[{"index":0,"delta":{"content":"Hi there."}}]}\n\ndata: [DONE]\n\n'
    assert not collected_reply(body).is_partial
