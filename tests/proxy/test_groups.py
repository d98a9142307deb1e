"""In a group, a call through the proxy is told only what the next speaker knows."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Character, Chat
from apps.chats.operations import add_participant, append_messages
from apps.llm.embeddings import get_embedder
from apps.llm.models import Connection
from apps.proxy.memory import messages_with_memory
from apps.proxy.operations.requests import StoredRequest
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed

pytestmark = pytest.mark.django_db

SECRET = "The silver key lies under the blue stone beside the well."
QUESTION = "Where does the silver key lie?"


@pytest.fixture
def alice() -> User:
    return UserFactory()


@pytest.fixture
def members(alice: User) -> list[Character]:
    return [make_character(alice, name) for name in ("Mira", "Tom")]


@pytest.fixture
def group(alice: User, members: list[Character]) -> Chat:
    """A group of which only Mira knows the secret."""
    chat = make_chat(alice)
    ids = [add_participant(alice, chat.pk, name=member.name, character=member).pk for member in members]
    chat = append_messages(alice, chat.pk, [parsed(QUESTION, is_user=True)]).chat
    embedder = get_embedder()
    vector = {"embedding": embedder.embed([SECRET])[0], "embedding_model": embedder.model}
    make_memory(chat, SECRET, tier="session", witnessed_by=ids[:1], **vector)
    return chat


def told(group: Chat, character: Character | None, *instructions: str) -> tuple[bool, str]:
    """Return whether the secret is added, and the state of the memory."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    messages += [{"role": "system", "content": text} for text in instructions]
    connection = Connection(model="scripted-small", context_tokens=8000)
    stored = StoredRequest(group, group.messages.get().pk, sent_count=1)
    sent, memory = messages_with_memory(stored, connection, {"messages": messages}, character)
    return any(SECRET in message["content"] for message in sent), memory


def test_the_character_of_the_request_is_the_speaker(group: Chat, members: list[Character]) -> None:
    mira, tom = members
    assert told(group, mira) == (True, "on")
    assert told(group, tom) == (False, "on")


def test_an_instruction_at_the_end_names_the_speaker(group: Chat, members: list[Character]) -> None:
    mira, tom = members
    assert told(group, tom, "[Write the next reply only as Mira.]") == (True, "on")
    assert told(group, mira, "[Write the next reply only as Tom.]") == (False, "on")
    continuing = "[Continue the following message. Do not repeat it: Mira, are you there?]"
    assert told(group, mira, "[Write the next reply only as Tom.]", continuing) == (False, "on")
    assert told(group, tom, continuing) == (False, "on")
    assert told(group, tom, "[Write as Mira or Tom.]") == (False, "on")


def test_nothing_is_added_while_the_speaker_is_unknown(alice: User, group: Chat) -> None:
    assert told(group, None) == (False, "off")
    assert told(group, make_character(alice, "Zoe")) == (False, "off")
