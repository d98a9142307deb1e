"""A first message that is sent again is a turn, and no call for a title."""

import openai
import pytest

from apps.chats.models import Chat
from tests.llm.scripted_server import Reply
from tests.proxy.conftest import texts_of


def test_a_first_message_that_is_made_longer_after_a_failure_is_stored(ask, alice, upstream):
    upstream.reply_with(Reply(status=500))
    with pytest.raises(openai.APIError):
        ask("Tell me the story of the two brothers.")
    upstream.reply_with("Once upon a time.")
    ask("Tell me the story of the two brothers. Make it a sad one.")
    assert texts_of(alice)[-1] == ["Tell me the story of the two brothers. Make it a sad one.", "Once upon a time."]


def test_a_first_message_made_longer_in_a_named_chat_is_stored(ask, alice, upstream):
    upstream.reply_with(Reply(status=500))
    with pytest.raises(openai.APIError):
        ask("Tell me the story of the two brothers.")
    chat = Chat.objects.for_owner(alice).get()
    upstream.reply_with("Once upon a time.")
    ask("Tell me the story of the two brothers. Make it a sad one.", extra_headers={"X-Loci-Chat": str(chat.pk)})
    assert "Once upon a time." in str(texts_of(alice))
