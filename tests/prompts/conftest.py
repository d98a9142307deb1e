"""Fixtures: Alice with a chat and memories of it, and another user."""

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Chat
from apps.llm.embeddings import get_embedder
from apps.memories.models import Memory
from tests.factories import UserFactory, make_character, make_chat, make_memory


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(user, name='test')[1]}")
    return client


@pytest.fixture
def alice(db) -> User:
    return UserFactory()


@pytest.fixture
def api(alice) -> APIClient:
    return client_of(alice)


@pytest.fixture
def stranger(db) -> APIClient:
    return client_of(UserFactory())


@pytest.fixture
def chat(alice) -> Chat:
    """Return a chat of 31 messages. The first two mention the key; the last one is Alice's question about it."""
    talk = [f"We walk on for mile {number} of the road." for number in range(28)]
    texts = [
        "Where is the silver key?",
        "Under the blue stone, beside the well with the frayed rope, my uncle hid the silver key.",
        *talk,
        "What about the key?",
    ]
    return make_chat(alice, *texts, character=make_character(alice))


@pytest.fixture
def remember(chat):
    """Return a function that stores a memory of the chat with its embedding."""

    def store(text: str, **fields) -> Memory:
        embedder = get_embedder()
        return make_memory(chat, text, embedding=embedder.embed([text])[0], embedding_model=embedder.model, **fields)

    return store


@pytest.fixture
def memories(remember) -> list[Memory]:
    return [
        remember("The silver key lies under the blue stone."),
        remember("Mira likes plums.", kind="preference"),
        remember("They left the city at dawn.", tier="session", kind="scene", expiration="session"),
    ]
