"""The search at its surface: what is found, what never is, and what serves when there are no vectors."""

import datetime as dt

import pytest

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Message
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.memories.models import Entity, Memory
from apps.search import service
from apps.search.indexing import index_messages
from apps.search.presets import PRESETS
from apps.search.ranking import SIGNALS
from apps.search.scan import HITS_PER_RETRIEVER
from apps.search.service import SearchQuery, search
from apps.text.lexemes import Lexemes
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed
from tests.lanes import sampled

TALK = [
    "Did you ever learn to play an instrument?",
    "My grandfather taught me the violin when I was six.",
    "I spent the whole winter repairing the roof of the boat house.",
    "That sounds cold! Where did you sleep?",
    "In a tent beside the frozen lake, with two dogs to keep me warm.",
    "Yeah, Alice, you were brave.",
]
TIERS = ("long_term", "session")


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(owner):
    chat = make_chat(owner, *TALK)
    index_messages(owner, chat)
    return chat


def remember(chat, text, **fields):
    vector = get_embedder().embed([text])[0]
    given = {"embedding": vector, "embedding_model": get_embedder().model, "lexemes": Lexemes(text)} | fields
    return make_memory(chat, text, **given)


def found(owner, query, **options):
    reply = search(owner, SearchQuery(query, **options))
    return [result.memory.text if result.memory else result.message.mes for result in reply.results]


def test_words_that_are_not_said_are_found_by_their_meaning(owner, chat):
    assert found(owner, "camping outdoors in freezing temperatures")[0] == TALK[4]


def test_the_subject_of_the_question_comes_before_those_who_address_them(owner, chat):
    assert found(owner, "Where did Alice sleep in the cold?")[0] == TALK[4]
    assert found(owner, "What can Mira play?")[0] == TALK[1]


def test_a_result_says_how_it_was_found(owner, chat):
    reply = search(owner, SearchQuery("Who taught Mira the violin?", limit=3))
    assert reply.method == "hybrid"
    best = reply.results[0]
    assert (best.tier, best.memory, best.message.mes) == ("messages", None, TALK[1])
    assert best.id == best.message.pk
    assert best.matched_sentence == best.excerpt == TALK[1]
    assert set(best.signals) == set(SIGNALS)
    assert best.signals["vector"] > 0.4
    assert best.signals["lexical"] > 0.3
    assert best.signals["subject"] == 1
    assert best.signals["answer"] > 0
    scores = [result.score for result in reply.results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_memories_and_messages_come_in_one_list(owner, chat):
    memory = remember(chat, "Mira learned the violin from her grandfather.")
    assert set(found(owner, "Who taught Mira the violin?")[:2]) == {memory.text, TALK[1]}
    assert found(owner, "Who taught Mira the violin?", tiers=TIERS) == [memory.text]
    assert memory.text not in found(owner, "Who taught Mira the violin?", tiers=("messages",))


@pytest.mark.parametrize(
    "fields",
    [{"hidden": True}, {"state": "retired"}, {"state": "superseded"}, {"deleted_at": "2026-01-01T00:00Z"}],
)
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_what_must_not_come_back_does_not(owner, chat, fields, preset):
    remember(chat, "Mira learned the violin from her grandfather.", **fields)
    assert found(owner, "Who taught Mira the violin?", tiers=TIERS, preset=preset) == []


def test_a_message_hidden_to_save_context_is_still_found(owner, chat):
    patch_messages(owner, chat.pk, [Patch({"is_system": True}, index=1)], Guard(optional=True))
    assert TALK[1] in found(owner, "Who taught Mira the violin?")


def test_nobody_finds_what_is_anothers(owner, chat):
    remember(chat, "Mira learned the violin from her grandfather.")
    assert found(UserFactory(), "Who taught Mira the violin?") == []
    assert found(UserFactory(), "Who taught Mira the violin?", chat=chat.pk) == []


def test_ones_own_is_found_among_any_number_of_anothers_better_matches(owner, chat):
    """A search ranks a limited number of rows, which are those of its owner."""
    stranger = UserFactory()
    theirs = make_chat(stranger, *["Mira learned the violin."] * 120)
    index_messages(stranger, theirs)
    vector = get_embedder().embed(["Mira learned the violin."])[0]
    for _ in range(120):
        given = {"embedding": vector, "embedding_model": get_embedder().model, "lexemes": Lexemes("Mira violin")}
        make_memory(theirs, "Mira learned the violin.", **given)
    own = remember(chat, "As a child, Mira played an instrument.")
    for preset in PRESETS:
        assert TALK[1] in found(owner, "Mira learned the violin.", tiers=("messages",), preset=preset)
        assert found(owner, "Mira learned the violin.", tiers=TIERS, preset=preset) == [own.text]


def test_speakers_in_anothers_chats_don_t_change_the_results(owner, chat):
    query = SearchQuery("What can Mira and Tolly play?")
    before = [(result.id, result.score) for result in search(owner, query).results]
    stranger = UserFactory()
    theirs = make_chat(stranger)
    append_messages(stranger, theirs.pk, [parsed("I can play, Mira.", name="Tolly") for _ in range(10)])
    index_messages(stranger, theirs)
    after = [(result.id, pytest.approx(result.score, abs=1e-3)) for result in search(owner, query).results]
    assert before == after


def test_a_search_in_a_chat_or_of_a_character_stays_there(owner):
    mira, tom = make_character(owner, "Mira"), make_character(owner, "Tom")
    first = make_chat(owner, "The violin is red.", character=mira)
    second = make_chat(owner, "The violin is blue.", character=mira)
    third = make_chat(owner, "The violin is green.", character=tom)
    for chat in (first, second, third):
        index_messages(owner, chat)
        remember(chat, f"Remembered: {chat.messages.get().mes}")
    remember(first, "In this sitting: the violin is red.", tier="session")
    one, everything = "violin", set(found(owner, "violin"))
    assert len(everything) == 7
    assert {text.rpartition(" ")[2] for text in found(owner, one, chat=first.pk)} == {"red."}
    assert {text.rpartition(" ")[2] for text in found(owner, one, character=mira.pk)} == {"red.", "blue."}
    both = found(owner, one, chat=second.pk, character=mira.pk)
    assert sorted(both) == [
        "Remembered: The violin is blue.", "Remembered: The violin is red.", "The violin is blue.",
    ]  # fmt: skip


def test_messages_from_an_index_on_can_be_left_out(owner, chat):
    assert TALK[1] not in found(owner, "Who taught Mira the violin?", before=1)


def test_what_was_said_later_does_not_take_the_place_of_what_was_said_before(owner):
    first = "On Monday the plumber, who had come about the sink, saw a violin."
    chat = make_chat(owner, first, "Go on.", *["The violin, the violin!"] * (HITS_PER_RETRIEVER + 1))
    index_messages(owner, chat)
    assert found(owner, "violin", chat=chat.pk, before=1) == [first]


def test_limit_and_least_score(owner, chat):
    everything = search(owner, SearchQuery("violin winter lake"))
    assert len(everything.results) == 6
    assert len(search(owner, SearchQuery("violin winter lake", limit=2)).results) == 2
    second = everything.results[1].score
    assert len(search(owner, SearchQuery("violin winter lake", min_score=second - 1e-6)).results) == 2


def test_signals_of_a_memory(owner, chat):
    memory = remember(
        chat, "The silver key opens the vault.", importance=3, pinned=True, source_instance="phone",
    )  # fmt: skip
    memory.entities.add(Entity.objects.create(owner=owner, name="Silver Key"))
    Entity.objects.create(owner=owner, name="Vault")
    query = SearchQuery("What does the silver key in the vault do?", tiers=TIERS, instance="phone")
    (result,) = search(owner, query).results
    expected = {"graph": 0.5, "instance": 1, "importance": 1, "pinned": 1}
    assert {name: result.signals[name] for name in expected} == expected
    assert result.signals["recency"] == pytest.approx(1, abs=0.01)


def test_entities_of_others_are_none_of_the_query(owner, chat):
    memory = remember(chat, "The silver key opens the vault.")
    memory.entities.add(Entity.objects.create(owner=owner, name="Silver Key"))
    Entity.objects.create(owner=UserFactory(), name="Vault")
    remember(chat, "The vault is deep.")
    first, second = search(owner, SearchQuery("Does the silver key open the vault?", tiers=TIERS)).results
    assert (first.signals["graph"], second.signals["graph"]) == (1, 0)


def test_the_seed_preset_scores_by_the_published_formula(owner, chat):
    remember(chat, "The silver key opens the vault.")
    (result,) = search(owner, SearchQuery("silver key", tiers=TIERS, preset="seed", instance="phone")).results
    signals = result.signals
    score = 0.8 * signals["vector"] + 0.05 * signals["recency"] + 0.05 * signals["graph"] + 0.1 * signals["instance"]
    assert result.score == pytest.approx(score)


def test_of_a_long_message_one_question_is_enough(owner, chat):
    chatter = "What a day it was today. The bus came late again. I had soup for lunch. "
    assert found(owner, chatter + "Who taught Mira the violin? Well, good night then.")[0] == TALK[1]


def test_rows_of_another_model_are_still_found_by_words(owner, chat):
    remember(chat, "The silver key opens the vault.", embedding=[0.5, 0.5], embedding_model="another")
    reply = search(owner, SearchQuery("silver key", tiers=TIERS))
    assert [result.signals["vector"] for result in reply.results] == [0]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_without_a_model_words_take_over(owner, chat, monkeypatch, preset):
    def unavailable(owner):
        raise EmbeddingUnavailable("no model")

    monkeypatch.setattr(service, "embedder_for", unavailable)
    reply = search(owner, SearchQuery("violin grandfather", preset=preset))
    assert reply.method == "text"
    assert reply.results[0].message.mes == TALK[1]


def test_a_query_of_stop_words_is_served_by_vectors(owner, chat):
    reply = search(owner, SearchQuery("who was it?"))
    assert reply.method == "vector"
    assert reply.results


@pytest.mark.parametrize("query", ["'", "\\", "a' | b & !c:*", "%s %(x)s %", "?" * 3000, "海 🎻", "violin " * 4000])
@pytest.mark.parametrize("preset", sampled(sorted(PRESETS), 2))
def test_any_query_is_served(owner, chat, query, preset):
    search(owner, SearchQuery(query, preset=preset))


def test_a_store_without_names_dates_or_sessions_is_served(owner):
    chat = make_chat(owner)
    append_messages(owner, chat.pk, [parsed("The violin is red.", name=" "), parsed("", name=" ")])
    index_messages(owner, chat)
    assert found(owner, "Which colour has the violin?")[0] == "The violin is red."


def test_the_tiers_are_those_of_memories_and_the_messages():
    assert {*Memory.Tier.values, "messages"} == set(service.TIERS)


MARCH, APRIL = dt.datetime(2024, 3, 5, 12, tzinfo=dt.UTC), dt.datetime(2024, 4, 5, 12, tzinfo=dt.UTC)


def test_results_are_narrowed_to_days_and_kinds(owner, chat):
    Message.objects.for_owner(owner).filter(chat=chat, index__lt=3).update(sent_at=MARCH)
    Message.objects.for_owner(owner).filter(chat=chat, index__gte=3).update(sent_at=APRIL)
    learnt = {message.index: message for message in chat.messages.all()}
    remember(chat, "Mira learnt the violin from her grandfather.", kind="fact", valid_from=learnt[1])
    remember(chat, "Mira slept in a tent beside the frozen lake.", kind="event", valid_from=learnt[4])
    query = "violin tent winter lake"
    assert len(found(owner, query)) == 8
    march = found(owner, query, since=dt.date(2024, 3, 5), until=dt.date(2024, 3, 5))
    assert set(march) == {*TALK[:3], "Mira learnt the violin from her grandfather."}
    april = found(owner, query, since=dt.date(2024, 3, 6))
    assert set(april) == {*TALK[3:], "Mira slept in a tent beside the frozen lake."}
    assert found(owner, query, until=dt.date(2024, 3, 4)) == []
    assert found(owner, query, kind="event") == ["Mira slept in a tent beside the frozen lake."]
    assert found(owner, query, kind="event", until=dt.date(2024, 3, 31)) == []


SMALL_TALK = ["hello!", "Hello there", "good morning", "Good morning, Mira!", "thanks a lot", "yes", "Guten Morgen!"]


@pytest.mark.parametrize("query", SMALL_TALK)
def test_a_greeting_finds_nothing_unrelated(owner, query):
    chat = make_chat(owner, "It was a good, cold morning with snow on the hills.", "The weather turned at noon.")
    index_messages(owner, chat)
    remember(chat, "Mira hopes for good weather in the morning.")
    assert found(owner, query, tiers=("messages", "long_term")) == []


def test_a_greeting_finds_who_said_it(owner, chat):
    greeted = make_chat(owner, "Good morning, you two!", "Say hello to the dogs.")
    index_messages(owner, greeted)
    assert found(owner, "good morning") == ["Good morning, you two!"]
    assert found(owner, "hello!") == ["Say hello to the dogs."]


@pytest.mark.parametrize("query", ["morning in the tent", "good violin", "no violin"])
def test_what_asks_for_something_is_no_greeting(owner, chat, query):
    assert found(owner, query)
