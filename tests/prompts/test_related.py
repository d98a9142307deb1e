"""What a search for a turn's text brings: memories and messages, neither at the cost of the other."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Message
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.prompts.retrieval.service import SEARCH_LIMIT, VISIBLE_MESSAGES, search_related
from apps.prompts.turns import find_turn
from apps.search import scan, service
from apps.search.indexing import index_messages
from apps.text.lexemes import Lexemes
from tests.factories import make_character, make_chat, make_memory


def test_where_all_talk_is_of_one_thing_memories_of_it_are_found_too(alice):
    talk = [f"Is the old violin there? The old violin, number {number}." for number in range(2 * SEARCH_LIMIT)]
    chat = make_chat(alice, *talk, character=make_character(alice))
    index_messages(alice, chat)
    texts = ["Mira's grandfather left her the old violin.", "The old violin lacks a string."]
    for text in texts:
        embedder = get_embedder()
        vector = {"embedding": embedder.embed([text])[0], "embedding_model": embedder.model}
        make_memory(chat, text, lexemes=Lexemes(text), **vector)
    related = search_related(find_turn(chat, "Where is the old violin?"), chat.character)
    assert {result.memory.text for result in related.results if result.memory} == set(texts)
    assert any(result.message for result in related.results)


def test_a_message_that_moderators_withheld_takes_no_place_in_the_history(alice: User) -> None:
    """What stands in the prompt anyway is not recalled: of the visible messages, as many as ever."""
    talk = ["The old violin lacks a string.", *(f"It rains, day {number}." for number in range(VISIBLE_MESSAGES))]
    chat = make_chat(alice, *talk, character=make_character(alice))
    index_messages(alice, chat)
    turn = find_turn(chat, "What does the old violin lack, which string?")
    assert [result.message.index for result in search_related(turn, chat.character).results] == [0]
    Message.objects.for_owner(alice).filter(chat=chat, index=VISIBLE_MESSAGES).update(withheld=True)
    assert search_related(turn, chat.character).results == []


def without_model(owner_id: Any) -> Any:
    raise EmbeddingUnavailable("no model")


def test_without_vectors_words_that_no_memory_has_hide_none_however_many_there_are(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether all memories were read to tell how common words are, or only a part of them."""
    monkeypatch.setattr(service, "embedder_for", without_model)
    chat = make_chat(alice, "Hello.", character=make_character(alice))
    key = "Mira hides the silver key in the old mill."
    texts = [*(f"Mira hid one more silver key number {number}." for number in range(30)), key]
    for text in texts:
        make_memory(chat, text, lexemes=Lexemes(text))
    turn = find_turn(chat, "Yesterday I wondered quietly whether somebody borrowed that silver key for the mill?")
    for sample in (1000, 20):
        monkeypatch.setattr(scan, "SAMPLE", sample)
        related = search_related(turn, chat.character)
        assert related.lacks_vectors
        assert related.results[:1], sample
        assert related.results[0].text == key
