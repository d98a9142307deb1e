"""What a search for a turn's text brings: memories and messages, neither at the cost of the other."""

from apps.llm.embeddings import get_embedder
from apps.prompts.retrieval.related import SEARCH_LIMIT, search_related
from apps.prompts.turns import find_turn
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
