"""Prompts that are assembled at the same time, by a process with a pool of connections, are those of one alone."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.database.restriction import restricted_to
from apps.search.indexing import index_messages
from tests.factories import UserFactory, make_character, make_chat
from tests.prompts.requests import assemble
from tests.search.test_search import remember

QUESTIONS = ("Where is the silver key?", "Does Mira like plums?", "Who is afraid of the sea? And why?")


def story(owner: User, number: int) -> Chat:
    """Return a chat of an owner whose texts name its number."""
    texts = [f"The silver key of house {number} lies under the blue stone.", "Where is it?", f"House {number}, I said."]
    chat = make_chat(owner, *texts, character=make_character(owner))
    index_messages(owner, chat)
    remember(chat, f"Mira of house {number} likes plums.", kind="preference")
    remember(chat, f"Tom of house {number} is afraid of the sea.", tier="session", kind="scene")
    return chat


def slots(chat: Chat, question: str) -> list[Any]:
    prompt = assemble(
        chat, text=question, character=chat.character, context_tokens=4000, with_history=True, leave_trace=False
    )
    return [[(item.slot.name, item.text) for item in prompt.slots], prompt.messages]


def asked(chat: Chat, question: str) -> list[Any]:
    try:
        with restricted_to(chat.owner_id):
            return slots(chat, question)
    finally:
        connection.close()


@pytest.mark.usefixtures("connection_pool")
def test_each_of_many_prompts_is_that_of_its_own_chat():
    chats = [story(UserFactory(), number) for number in range(4)]
    turns = [(chat, question) for chat in chats for question in QUESTIONS] * 5
    with transaction.atomic():  # one read after the other
        expected = {(chat.pk, question): slots(chat, question) for chat, question in turns}
    with ThreadPoolExecutor(6) as requests:
        answers = list(requests.map(lambda turn: asked(*turn), turns))
    for (chat, question), answer in zip(turns, answers, strict=True):
        assert answer == expected[chat.pk, question]
    texts = [str(answer) for answer in answers]
    assert all(f"house {number}" in text for number, text in zip(range(4), texts[:: len(QUESTIONS)], strict=False))
    assert connection.pool.get_stats()["connections_num"] > 1
